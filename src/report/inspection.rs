//! What is about to be overwritten, in lines.

use crate::drive::Inspection;
use crate::units;

/// Partitions that are listed in the short form, at most.
const MAX_LISTED_PARTITIONS: usize = 8;

/// Identity and contents: the most important first, and the first few of many partitions.
#[must_use]
pub fn summary_lines(inspection: &Inspection) -> Vec<String> {
    let location = location_line(inspection);
    let what = match &inspection.resolved {
        Some(_) => format!("{} {location}", inspection.name),
        None => location,
    };
    let mut lines = vec![what, drive_line(inspection), contents_line(inspection)];
    let partitions = partition_lines(inspection);
    let more = partitions.len().saturating_sub(MAX_LISTED_PARTITIONS);
    lines.extend(partitions.into_iter().take(MAX_LISTED_PARTITIONS));
    if more > 0 {
        lines.push(format!("+{more} more partitions"));
    }
    lines
}

/// The same below a heading with the name, with all partitions, and without the line that lists the signatures.
#[must_use]
pub fn detail_lines(inspection: &Inspection) -> Vec<String> {
    let mut lines = vec![location_line(inspection), drive_line(inspection)];
    if inspection.contents.is_unrecognised {
        lines.push(contents_line(inspection));
    }
    lines.extend(partition_lines(inspection));
    lines
}

/// The resolved path if different, the device, and the size.
fn location_line(inspection: &Inspection) -> String {
    let size = units::format_size(inspection.size_bytes);
    let path = match &inspection.resolved {
        Some(path) => format!("-> {path}"),
        None => inspection.name.clone(),
    };
    let device = match &inspection.device {
        Some((name, (major, minor))) => format!(", {name} ({major}:{minor})"),
        None => String::new(),
    };
    format!("{path}{device}, {size}")
}

/// Model and serial number of a device; the names of a file, if there are several.
fn drive_line(inspection: &Inspection) -> String {
    let known = |what: &Option<String>| what.clone().unwrap_or_else(|| "unknown".to_owned());
    match inspection.device {
        Some(_) => {
            let (model, serial) = (known(&inspection.model), known(&inspection.serial));
            format!("model {model}, serial {serial}")
        }
        None if inspection.name_count > 1 => format!(
            "regular file with {} names (hard links), whose content changes under each",
            inspection.name_count
        ),
        None => "regular file".to_owned(),
    }
}

fn contents_line(inspection: &Inspection) -> String {
    match inspection.contents.summary().as_slice() {
        [] if inspection.contents.is_unrecognised => "holds unrecognised data".to_owned(),
        [] => "only zeros at its start and its end".to_owned(),
        items => format!("holds {}", items.join("; ")),
    }
}

fn partition_lines(inspection: &Inspection) -> Vec<String> {
    let partitions = inspection.contents.partitions.iter();
    partitions
        .map(|part| {
            let size = units::format_size(part.length);
            let formats = inspection.contents.formats_on(&part.name).join(", ");
            let separator = if formats.is_empty() { "" } else { ", " };
            format!("partition {}, {size}{separator}{formats}", part.name)
        })
        .collect()
}
