//! Blocked tasks and I/O errors.

use super::{Column, Entity, field};
use crate::snapshot::view::{BlockedTaskView, IoErrorsView};
use crate::units::Unit;

type Blocked = Column<BlockedTaskView>;
type Errors = Column<IoErrorsView>;

impl Entity for BlockedTaskView {
    const NAME: &'static str = "blocked";
    #[rustfmt::skip]
    const COLUMNS: &'static [Blocked] = &[
        Blocked::new("dstate_ns", "dstate", Unit::Nanoseconds, |it| it.blocked_ns.into()).also(&["blocked"]).derived()
            .help("time that a thread of the process has been in one uninterruptible sleep (state D); `blocked_ns`"),
    ];
    type Counters = ();
}

impl Entity for IoErrorsView {
    const NAME: &'static str = "io_errors";
    #[rustfmt::skip]
    const COLUMNS: &'static [Errors] = &[
        Errors::new("io_errors", "errors", Unit::Count, |it| it.count().into()).derived()
            .help("I/O errors of the interval in the kernel log; where it cannot be read, failed commands (ioerr_cnt)"),
        field!(Errors, logged, "logged", Count)
            .help("errors that the kernel logged; unknown where the log cannot be read"),
        field!(Errors, failed_commands, "failed", Count)
            .help("commands that failed (`ioerr_cnt` of SCSI drives); unknown where they are not counted"),
    ];
    type Counters = ();
}
