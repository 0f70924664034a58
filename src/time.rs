//! The local time of the user.
//!
//! `TZ` and `TZDIR` come from the user who starts the program, who may be another user than the one
//! that it runs as (sudo with `env_keep`), and may name a device, a pipe or a file of any size.
//! Here `TZ` names a zone of the system's own directory, as a path below it; every other value
//! means UTC, and `TZDIR` is ignored.

use std::ffi::OsStr;
use std::io::Read;
use std::path::{Component, Path, PathBuf};

use jiff::Zoned;
use jiff::tz::TimeZone;

use crate::files::input;

/// Directories of the zones (tzset(3)); some systems have only the second one.
const DIRECTORIES: [&str; 3] = ["/usr/share/zoneinfo", "/usr/lib/zoneinfo", "/etc/zoneinfo"];
/// The time zone of the machine.
const LOCAL: &str = "/etc/localtime";
/// Maximum size of a zone file; the largest have some 4 kB.
const LONGEST: u64 = 1 << 20;

/// The current time in the user's time zone; in UTC if it is unknown.
#[must_use]
pub fn local_now() -> Zoned {
    let zone = zone(std::env::var_os("TZ").as_deref());
    jiff::Timestamp::now().to_zoned(zone.unwrap_or(TimeZone::UTC))
}

/// The zone that the variable names, or that of the machine if the variable is not set.
fn zone(variable: Option<&OsStr>) -> Option<TimeZone> {
    match variable {
        None => read(Path::new(LOCAL)),
        Some(name) => {
            let name = name.to_str()?;
            let name = name.strip_prefix(':').unwrap_or(name);
            if let Some(path) = below(name) {
                let mut files = DIRECTORIES
                    .iter()
                    .map(|directory| Path::new(directory).join(&path));
                if let Some(zone) = files.find_map(|file| read(&file)) {
                    return Some(zone);
                }
            }
            // A rule such as `CET-1CEST,M3.5.0,M10.5.0/3`: no file is opened.
            TimeZone::posix(name).ok()
        }
    }
}

/// The path of a zone below its directory; `None` if the name leads outside of it.
fn below(name: &str) -> Option<PathBuf> {
    let path = Path::new(name);
    let mut directories = DIRECTORIES.iter();
    let path = directories
        .find_map(|directory| path.strip_prefix(directory).ok())
        .unwrap_or(path);
    let mut components = path.components().peekable();
    components.peek()?;
    components
        .all(|component| matches!(component, Component::Normal(_)))
        .then(|| path.to_owned())
}

/// Reads a zone from its file, which must be a regular file.
fn read(path: &Path) -> Option<TimeZone> {
    let (file, _) = input::open_input(path, input::InputKind::RegularFile).ok()?;
    let mut bytes = Vec::new();
    file.take(LONGEST).read_to_end(&mut bytes).ok()?;
    TimeZone::tzif("Local", &bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zone_of_the_system_is_found_by_name_and_by_path() {
        assert_eq!(below("Europe/Berlin"), Some("Europe/Berlin".into()));
        let path = "/usr/share/zoneinfo/Europe/Berlin";
        assert_eq!(below(path), Some("Europe/Berlin".into()));
    }

    #[test]
    fn name_that_leads_out_of_the_zones_is_none() {
        for name in [
            "",
            "/dev/zero",
            "../../../dev/zero",
            "Europe/../../../../dev/zero",
            "/usr/share/zoneinfo/../../../dev/zero",
            "/usr/share/zoneinfo",
            "/etc/passwd",
        ] {
            assert_eq!(below(name), None, "{name}");
            assert!(zone(Some(OsStr::new(name))).is_none(), "{name}");
        }
    }

    #[test]
    fn rule_needs_no_file() {
        let zone = zone(Some(OsStr::new("XYZ-3"))).unwrap();
        let time = jiff::Timestamp::UNIX_EPOCH.to_zoned(zone);
        assert_eq!(time.offset().seconds(), 3 * 3600);
    }
}
