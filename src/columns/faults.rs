//! Blocked tasks and I/O errors.

use super::{Column, Entity, Value, count};
use crate::snapshot::view::{BlockedTaskView, IoErrorsView};
use crate::units::Unit;

type Blocked = Column<BlockedTaskView>;
type Errors = Column<IoErrorsView>;

impl Entity for BlockedTaskView {
    const NAME: &'static str = "blocked";
    const COLUMNS: &'static [Blocked] = &[Blocked::new(
        "dstate_ns",
        "dstate",
        Unit::Nanoseconds,
        |it| Value::Number(it.blocked_ns as f64),
    )
    .help("time that a thread of the process has been in one uninterruptible sleep (state D); `blocked_ns`")
    .also(&["blocked"])
    .derived()];
    type Counters = ();
}

impl Entity for IoErrorsView {
    const NAME: &'static str = "io_errors";
    const COLUMNS: &'static [Errors] = &[
        Errors::new("io_errors", "errors", Unit::Count, |it| count(it.count()))
            .help("I/O errors of the interval in the kernel log; where it cannot be read, failed commands (ioerr_cnt)")
            .derived(),
        Errors::new("logged", "logged", Unit::Count, |it| count(it.logged))
            .help("errors that the kernel logged; unknown where the log cannot be read"),
        Errors::new("failed_commands", "failed", Unit::Count, |it| {
            count(it.failed_commands)
        })
        .help("commands that failed (`ioerr_cnt` of SCSI drives); unknown where they are not counted"),
    ];
    type Counters = ();
}
