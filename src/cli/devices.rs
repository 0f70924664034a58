//! `diskscope devices`: lists drives with identity, stacking, users and tuning advice.

use std::cell::LazyCell;
use std::fmt::Write as _;

use clap::Args;
use serde::Serialize;

use super::failure::{CommandResult, ExitStatus};
use super::options::{FormatOption, OutputFormat};
use super::output::{json_lines, pretty_json};
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
const DEVICE_TABLE: CsvTable = CsvTable(
    "name,path,kind,size_bytes,vendor,model,serial,firmware,transport,rotational,\
    rotation_rate,removable,read_only,logical_block_bytes,physical_block_bytes,\
    scheduler,queue_depth,read_ahead_kib,write_cache,signature,parent,slaves,label,\
    by_id",
);

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
        let facts = DeviceFacts::read(self.all);
        // Searched only where an answer is printed: it looks at all processes.
        let uses = LazyCell::new(|| facts.uses());
        let listings = || facts.drives.iter().map(|drive| facts.listing(drive, &uses));
        let text = match self.format.get() {
            OutputFormat::Json => pretty_json(&listings().collect::<Vec<_>>())?,
            OutputFormat::Ndjson => json_lines(listings())?,
            OutputFormat::Csv => DEVICE_TABLE.to_csv(listings())?,
            _ if facts.drives.is_empty() => NO_DEVICES.to_owned(),
            _ => facts.text(&uses),
        };
        output.write(&text)?;
        Ok(ExitStatus::Success)
    }
}

/// The text where there is no device.
const NO_DEVICES: &str =
    "no block devices; a directory can still be measured: diskscope run random-read .\n";

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

/// What is known of all devices.
struct DeviceFacts {
    roots: SysPaths,
    drives: Vec<BlockDevice>,
    file_systems: Vec<MountedFileSystem>,
    temperatures: Temperatures,
    /// None where they cannot be read.
    counters: Vec<DiskCounters>,
}

impl DeviceFacts {
    fn read(with_empty_slots: bool) -> Self {
        let roots = SysPaths::default();
        let mut drives = identity::list_block_devices(&roots);
        let temperatures = temperature::temperatures(&roots, &drives);
        drives.retain(|drive| with_empty_slots || drive.size_bytes > 0);
        let counters = std::fs::read(roots.proc.join("diskstats"));
        Self {
            drives,
            file_systems: file_systems::list_file_systems(&roots),
            temperatures,
            counters: counters.map_or_else(|_| Vec::new(), |text| diskstats::parse(&text)),
            roots,
        }
    }

    /// The users of all drives that can be unplugged.
    fn uses(&self) -> Uses {
        let drives = self.drives.iter();
        let removable = drives.filter(|drive| unplug::can_be_unplugged(drive));
        let names: Vec<&str> = removable.map(|drive| drive.name.as_str()).collect();
        guard::find_users(&self.roots, Subject::Devices(&names))
    }

    /// Whether a drive can be unplugged, as far as one reading of its counters says.
    fn unplug_answer(&self, drive: &BlockDevice, uses: &Uses) -> Option<UnplugAnswer> {
        let mut counters = self.counters.iter();
        let own = counters.find(|disk| disk.device_number == drive.number);
        let flush = own.map_or(FlushState::NotObserved, |disk| {
            let flushes = disk.flushes.map(|flushes| flushes.completed);
            FlushState::of_counters(disk.writes.sectors, flushes)
        });
        let answer = unplug::unplug_answer(drive, &self.drives, Some(uses), None, flush)?;
        let answer = unplug::with_exclusive_use(&self.roots, drive, &self.drives, answer);
        Some(answer)
    }

    fn listing<'a>(&'a self, drive: &'a BlockDevice, uses: &Uses) -> DeviceListing<'a> {
        DeviceListing {
            drive,
            label: drive.label(),
            sector_kind: report::devices::sector_kind(drive),
            temperature_celsius: self.temperatures.get(&drive.number).copied(),
            file_systems: self.file_systems_on(drive).collect(),
            advice: advice::tuning_advice(drive, &self.file_systems, None),
            unplug: self.unplug_answer(drive, uses),
        }
    }

    fn file_systems_on(&self, drive: &BlockDevice) -> impl Iterator<Item = &MountedFileSystem> {
        let number = drive.number;
        let all = self.file_systems.iter();
        all.filter(move |it| it.block_device == number)
    }

    /// Drives with their partitions and the devices stacked on them, then what can be unplugged, and
    /// the advice.
    fn text<F: FnOnce() -> Uses>(&self, uses: &LazyCell<Uses, F>) -> String {
        let mut text = String::new();
        for drive in &self.drives {
            let is_known = |name: &String| self.drives.iter().any(|other| other.name == *name);
            if !drive.parent.iter().chain(&drive.slaves).any(is_known) {
                self.append_tree(&mut text, drive, 0);
            }
        }
        let mut heading = "\nsafe to unplug\n";
        for drive in self.drives.iter().filter(|it| it.removable == Some(true)) {
            if let Some(answer) = self.unplug_answer(drive, uses) {
                let answer = report::unplug::unplug_text(&answer, &drive.path);
                let _ = writeln!(text, "{heading}  {}: {answer}", drive.name);
                heading = "";
            }
        }
        let mut heading = "\nadvice (no setting is changed automatically)\n";
        for drive in &self.drives {
            for advice in advice::tuning_advice(drive, &self.file_systems, None) {
                let command = shell::for_terminal(advice.command);
                let (name, reason) = (&drive.name, advice.reason);
                let _ = writeln!(text, "{heading}  {name}: {reason}\n    {command}");
                heading = "";
            }
        }
        text
    }

    fn append_tree(&self, text: &mut String, drive: &BlockDevice, depth: usize) {
        let name = format!("{}{}", "  ".repeat(depth), drive.name);
        let size = units::format_size(drive.size_bytes);
        let details = self.details(drive).join(", ");
        let _ = writeln!(text, "{name:<14} {size:>8}  {details}");
        // A member of several devices is shown below each of them; a cycle cannot be stacked.
        for other in self.drives.iter().filter(|other| other.is_on(drive)) {
            self.append_tree(text, other, depth + 1);
        }
    }

    fn details(&self, drive: &BlockDevice) -> Vec<String> {
        let mut words = vec![drive.label()];
        let volume = drive.volume.as_ref();
        words.extend(volume.map(|it| report::devices::volume_kind(it.kind).to_owned()));
        if drive.kind != DriveKind::Partition {
            let serial = drive.serial.as_ref();
            words.extend(serial.map(|serial| format!("serial {serial}")));
            let link = drive.details.link.as_ref().map(|link| link.name.clone());
            words.extend(link.or_else(|| drive.transport.clone()));
            let rotating = |is: bool| if is { "rotating" } else { "not rotating" }.to_owned();
            words.extend(drive.rotational.map(rotating));
            words.extend(report::devices::sector_kind(drive));
            let temperature = self.temperatures.get(&drive.number);
            words.extend(temperature.map(|celsius| format!("{celsius:.0} C")));
            let scheduler = drive.scheduler.as_ref();
            words.extend(scheduler.map(|name| format!("scheduler {name}")));
        }
        words.extend(drive.signature.clone());
        if drive.read_only == Some(true) {
            words.push("read-only".to_owned());
        }
        if drive.aligned == Some(false) {
            words.push("MISALIGNED".to_owned());
        }
        words.extend(drive.users.iter().filter_map(use_text));
        words.extend(self.file_systems_on(drive).filter_map(usage_text));
        words
    }
}

/// How much of a file system is used.
fn usage_text(file_system: &MountedFileSystem) -> Option<String> {
    let usage = file_system.usage?;
    let mut text = format!("{} used", units::format_percent(usage.used_fraction()?));
    if let Some(inodes) = usage.used_inode_fraction().filter(|share| *share >= 0.8) {
        let inodes = units::format_percent(inodes);
        text.push_str(&format!(", {inodes} of its inodes"));
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
