//! `diskscope devices`: lists drives with identity, stacking, users and tuning advice.

use std::cell::LazyCell;
use std::fmt::Write as _;

use clap::Args;
use serde::Serialize;

use super::failure::{CommandResult, ExitStatus};
use super::options::{FormatOption, OutputFormat};
use super::output::{converted, json_lines, pretty_json};
use super::subcommand::Arguments;
use crate::drive::guard::{self, Subject, Uses};
use crate::drive::unplug::{self, FlushState, UnplugAnswer};
use crate::drive::{BlockDevice, DeviceUse, DriveKind, identity};
use crate::files::output::NewFileAccess;
use crate::files::shell;
use crate::probe::file_systems::{self, MountedFileSystem};
use crate::probe::sample::DiskCounters;
use crate::probe::system::diskstats;
use crate::probe::system::temperature::{self, Temperatures};
use crate::report;
use crate::report::csv::CsvTable;
use crate::roots::SysPaths;
use crate::snapshot::advice::{self, TuningAdvice};
use crate::units;

/// The devices; the keys are those of `--json`.
const DEVICE_TABLE: CsvTable = CsvTable {
    columns: &[
        "name",
        "path",
        "kind",
        "size_bytes",
        "vendor",
        "model",
        "serial",
        "firmware",
        "transport",
        "rotational",
        "rotation_rate",
        "removable",
        "read_only",
        "logical_block_bytes",
        "physical_block_bytes",
        "scheduler",
        "queue_depth",
        "read_ahead_kib",
        "write_cache",
        "signature",
        "parent",
        "slaves",
        "label",
        "by_id",
    ],
};

/// List the drives: identity, stacking, users, tuning advice
#[derive(Debug, Args)]
pub(super) struct DevicesArguments {
    #[command(flatten)]
    format: FormatOption,
    /// include empty slots: loop devices without a file, readers without a card
    #[arg(long)]
    all: bool,
}

impl Arguments for DevicesArguments {
    const FORMATS: &'static [OutputFormat] = &[
        OutputFormat::Text,
        OutputFormat::Json,
        OutputFormat::Ndjson,
        OutputFormat::Csv,
    ];

    fn run(self) -> CommandResult {
        let mut output = self.format.output.whole(&[], NewFileAccess::Umask)?;
        let roots = SysPaths::default();
        let mut drives = identity::list_block_devices(&roots);
        let file_systems = file_systems::list_file_systems(&roots);
        let temperatures = temperature::temperatures(&roots, &drives);
        if !self.all {
            drives.retain(|drive| drive.size_bytes > 0);
        }
        let counters = disk_counters(&roots);
        // Searched only where an answer is printed: it looks at all processes.
        let uses = LazyCell::new(|| uses_of_drives(&roots, &drives));
        let unplug_of =
            |drive: &BlockDevice| unplug_answer_of(&roots, drive, &drives, &uses, &counters);
        let listings = || {
            drives.iter().map(|drive| DeviceListing {
                temperature_celsius: temperatures.get(&drive.number).copied(),
                ..DeviceListing::new(drive, &file_systems, unplug_of(drive))
            })
        };
        let text = match self.format.get() {
            OutputFormat::Json => pretty_json(&listings().collect::<Vec<_>>())?,
            OutputFormat::Ndjson => json_lines(listings())?,
            OutputFormat::Csv => converted(DEVICE_TABLE.to_csv(listings()))?,
            _ if drives.is_empty() => NO_DEVICES.to_owned(),
            _ => devices_text((&drives, &file_systems, &temperatures), &unplug_of),
        };
        output.write(&text)?;
        Ok(ExitStatus::Success)
    }
}

/// The counters of the devices; none where they cannot be read.
fn disk_counters(roots: &SysPaths) -> Vec<DiskCounters> {
    let text = std::fs::read(roots.proc.join("diskstats"));
    text.map_or_else(|_| Vec::new(), |text| diskstats::parse(&text))
}

/// The users of all drives.
fn uses_of_drives(roots: &SysPaths, drives: &[BlockDevice]) -> Uses {
    let names: Vec<&str> = drives
        .iter()
        .filter(|drive| unplug::can_be_unplugged(drive))
        .map(|drive| drive.name.as_str())
        .collect();
    guard::find_users(roots, Subject::Devices(&names))
}

/// Whether a drive can be unplugged, as far as one reading of its counters says.
fn unplug_answer_of(
    roots: &SysPaths,
    drive: &BlockDevice,
    drives: &[BlockDevice],
    uses: &Uses,
    counters: &[DiskCounters],
) -> Option<UnplugAnswer> {
    let own = counters
        .iter()
        .find(|disk| disk.device_number == drive.number);
    let flush = own.map_or(FlushState::NotObserved, |disk| {
        let flushes = disk.flushes.map(|flushes| flushes.completed);
        FlushState::of_counters(disk.writes.sectors, flushes)
    });
    let answer = unplug::unplug_answer(drive, drives, Some(uses), None, flush)?;
    Some(unplug::with_exclusive_use(roots, drive, drives, answer))
}

/// The text where there is no device.
const NO_DEVICES: &str =
    "no block devices; a directory can still be measured: diskscope run random-read .\n";

/// All drives, file systems and temperatures.
type DeviceFacts<'a> = (&'a [BlockDevice], &'a [MountedFileSystem], &'a Temperatures);

/// A drive with its file systems and tuning advice, as JSON.
#[derive(Serialize)]
struct DeviceListing<'a> {
    #[serde(flatten)]
    drive: &'a BlockDevice,
    label: String,
    sector_kind: Option<String>,
    temperature_celsius: Option<f64>,
    file_systems: Vec<&'a MountedFileSystem>,
    advice: Vec<TuningAdvice>,
    /// Whether it can be unplugged; null for what is no drive.
    unplug: Option<UnplugAnswer>,
}

impl<'a> DeviceListing<'a> {
    fn new(
        drive: &'a BlockDevice,
        file_systems: &'a [MountedFileSystem],
        unplug: Option<UnplugAnswer>,
    ) -> Self {
        let own = file_systems
            .iter()
            .filter(|it| it.block_device == drive.number);
        Self {
            drive,
            label: drive.label(),
            sector_kind: report::devices::sector_kind(drive),
            temperature_celsius: None,
            file_systems: own.collect(),
            advice: advice::tuning_advice(drive, file_systems, None),
            unplug,
        }
    }
}

/// Drives with their partitions and the devices stacked on them, then the advice.
fn devices_text(
    all: DeviceFacts<'_>,
    unplug_of: &dyn Fn(&BlockDevice) -> Option<UnplugAnswer>,
) -> String {
    let mut text = String::new();
    let (drives, file_systems, _) = all;
    for drive in drives.iter().filter(|drive| is_root_device(drive, drives)) {
        append_device_tree(&mut text, drive, all, 0);
    }
    let removable = drives.iter().filter(|drive| drive.removable == Some(true));
    let answers: Vec<_> = removable
        .filter_map(|drive| Some((drive, unplug_of(drive)?)))
        .collect();
    if !answers.is_empty() {
        text.push_str("\nsafe to unplug\n");
    }
    for (drive, answer) in answers {
        let answer = report::unplug::unplug_text(&answer, &drive.path);
        let _ = writeln!(text, "  {}: {answer}", drive.name);
    }
    let advice: Vec<(&BlockDevice, TuningAdvice)> = drives
        .iter()
        .flat_map(|drive| {
            let given = advice::tuning_advice(drive, file_systems, None);
            given.into_iter().map(move |advice| (drive, advice))
        })
        .collect();
    if !advice.is_empty() {
        text.push_str("\nadvice (no setting is changed automatically)\n");
    }
    for (drive, advice) in advice {
        let _ = writeln!(text, "  {}: {}", drive.name, advice.reason);
        let _ = writeln!(text, "    {}", shell::for_terminal(advice.command));
    }
    text
}

fn is_root_device(drive: &BlockDevice, drives: &[BlockDevice]) -> bool {
    let known = |name: &String| drives.iter().any(|other| other.name == *name);
    !drive.parent.iter().chain(&drive.slaves).any(known)
}

fn append_device_tree(text: &mut String, drive: &BlockDevice, all: DeviceFacts<'_>, depth: usize) {
    let indent = "  ".repeat(depth);
    let name = format!("{indent}{}", drive.name);
    let size = units::format_size(drive.size_bytes);
    let _ = writeln!(
        text,
        "{name:<14} {size:>8}  {}",
        device_details(drive, all).join(", ")
    );
    // A member of several devices is shown below each of them; a cycle cannot be stacked.
    for other in all.0.iter().filter(|other| other.is_on(drive)) {
        append_device_tree(text, other, all, depth + 1);
    }
}

fn device_details(
    drive: &BlockDevice,
    (_, file_systems, temperatures): DeviceFacts<'_>,
) -> Vec<String> {
    let mut words = vec![drive.label()];
    let volume = drive.volume.as_ref();
    words.extend(volume.map(|it| report::devices::volume_kind(it.kind).to_owned()));
    if drive.kind != DriveKind::Partition {
        words.extend(
            drive
                .serial
                .as_ref()
                .map(|serial| format!("serial {serial}")),
        );
        let link = drive.details.link.as_ref().map(|link| link.name.clone());
        words.extend(link.or_else(|| drive.transport.clone()));
        words.extend(
            drive
                .rotational
                .map(|it| if it { "rotating" } else { "not rotating" }.to_owned()),
        );
        words.extend(report::devices::sector_kind(drive));
        let temperature = temperatures.get(&drive.number);
        words.extend(temperature.map(|celsius| format!("{celsius:.0} C")));
        words.extend(
            drive
                .scheduler
                .as_ref()
                .map(|name| format!("scheduler {name}")),
        );
    }
    words.extend(drive.signature.clone());
    if drive.read_only == Some(true) {
        words.push("read-only".to_owned());
    }
    if drive.aligned == Some(false) {
        words.push("MISALIGNED".to_owned());
    }
    words.extend(drive.users.iter().filter_map(use_text));
    let own = file_systems
        .iter()
        .filter(|it| it.block_device == drive.number);
    words.extend(own.filter_map(usage_text));
    words
}

/// How much of a file system is used.
fn usage_text(file_system: &MountedFileSystem) -> Option<String> {
    let usage = file_system.usage?;
    let mut text = format!("{} used", units::format_percent(usage.used_fraction()?));
    if let Some(inodes) = usage.used_inode_fraction().filter(|share| *share >= 0.8) {
        text.push_str(&format!(
            ", {} of its inodes",
            units::format_percent(inodes)
        ));
    }
    Some(text)
}

fn use_text(user: &DeviceUse) -> Option<String> {
    match user {
        DeviceUse::Mounted { at, file_system } => Some(format!("{file_system} on {at}")),
        DeviceUse::Swap => Some("swap".to_owned()),
        // The holder has its own line below.
        DeviceUse::HeldBy { .. } => None,
    }
}
