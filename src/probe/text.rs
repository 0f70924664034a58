//! Reading small kernel files without an allocation for each of them.

use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use rustix::fs::{Mode, OFlags, openat};

/// Opens a file for reading, relative to a directory.
pub fn open_relative(
    directory: impl AsFd,
    name: impl rustix::path::Arg,
) -> rustix::io::Result<rustix::fd::OwnedFd> {
    openat(
        directory,
        name,
        OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOCTTY,
        Mode::empty(),
    )
}

/// Reads a small file whose content ends with the first read. This takes half the system calls of
/// reading to the end, which matters for files that are read thousands of times per sample.
pub fn pread_once<'b>(
    descriptor: BorrowedFd<'_>,
    buffer: &'b mut [u8],
) -> rustix::io::Result<&'b [u8]> {
    let read = rustix::io::retry_on_intr(|| rustix::io::pread(descriptor, &mut *buffer, 0))?;
    Ok(&buffer[..read])
}

/// The content of a file, or `None` where it cannot be read.
#[must_use]
pub fn read_file(path: &Path) -> Option<Vec<u8>> {
    std::fs::read(path).ok()
}

/// At most the first `limit` bytes of a file, or `None` where it cannot be read. Arguments and the
/// environment of a process can have several MB, which its user chooses and many processes can share.
#[must_use]
pub fn read_start(path: &Path, limit: u64) -> Option<Vec<u8>> {
    let mut content = Vec::new();
    let file = std::fs::File::open(path).ok()?;
    file.take(limit).read_to_end(&mut content).ok()?;
    Some(content)
}

/// The content of a small file that ends with the first read, in half the system calls of
/// [`read_file`]; `None` where it cannot be read. The name is relative to the directory.
#[must_use]
pub fn read_small_file(
    directory: impl AsFd,
    name: impl rustix::path::Arg,
    buffer: &mut [u8],
) -> Option<&[u8]> {
    let file = open_relative(directory, name).ok()?;
    pread_once(file.as_fd(), buffer).ok()
}

/// The content of a file as text without surrounding white space, or `None` where it cannot be read
/// or is empty.
#[must_use]
pub fn read_word(path: &Path) -> Option<String> {
    let bytes = read_file(path)?;
    let text = String::from_utf8_lossy(&bytes).trim().to_owned();
    (!text.is_empty()).then_some(text)
}

/// An unsigned decimal number that fills `field`; `None` for anything else, and on overflow.
#[must_use]
pub fn parse_number(field: &[u8]) -> Option<u64> {
    if field.is_empty() {
        return None;
    }
    field.iter().try_fold(0_u64, |value, byte| {
        let digit = byte.checked_sub(b'0').filter(|digit| *digit < 10)?;
        value.checked_mul(10)?.checked_add(u64::from(digit))
    })
}

/// A device number, `8:16`.
#[must_use]
pub fn parse_device_number(word: &[u8]) -> Option<(u32, u32)> {
    let colon = word.iter().position(|byte| *byte == b':')?;
    let part = |digits: &[u8]| u32::try_from(parse_number(digits)?).ok();
    Some((part(&word[..colon])?, part(&word[colon + 1..])?))
}

/// The numbers among the names in a directory, ascending: processes, threads, descriptors. None where it
/// cannot be listed.
#[must_use]
pub fn list_numbers(directory: BorrowedFd<'_>) -> Vec<u32> {
    let number = |name: &[u8]| u32::try_from(parse_number(name)?).ok();
    let listing = rustix::fs::Dir::read_from(directory);
    let entries = listing.into_iter().flatten().flatten();
    let mut numbers: Vec<u32> = entries
        .filter_map(|entry| number(entry.file_name().to_bytes()))
        .collect();
    numbers.sort_unstable();
    numbers
}

/// The rest of the line that begins with `name`, without white space around it.
#[must_use]
pub fn field<'t>(text: &'t [u8], name: &str) -> Option<&'t [u8]> {
    let mut lines = nonempty_lines(text);
    let rest = lines.find_map(|line| line.strip_prefix(name.as_bytes()))?;
    Some(rest.trim_ascii())
}

/// A number of 32 bits at the beginning of the line that starts with `name`: an id.
#[must_use]
pub fn id_field(text: &[u8], name: &str) -> Option<u32> {
    u32::try_from(parse_number(field(text, name)?)?).ok()
}

/// The numbers of lines such as `MemTotal: 12 kB` or `pgpgin 34`, in the order of `names`; `None` for
/// a name that is missing or has no number.
#[must_use]
pub fn named_numbers<const N: usize>(text: &[u8], names: [&str; N]) -> [Option<u64>; N] {
    let mut values = [None; N];
    for line in nonempty_lines(text) {
        let mut words = split_fields(line);
        let name = words.next().unwrap_or_default();
        let name = name.strip_suffix(b":").unwrap_or(name);
        if let Some(at) = names.iter().position(|known| known.as_bytes() == name) {
            values[at] = words.next().and_then(parse_number);
        }
    }
    values
}

/// The numbers among the names in a directory at a path, as [`list_numbers`].
///
/// # Errors
/// Where it cannot be opened.
pub fn list_numbers_at(directory: &Path) -> std::io::Result<Vec<u32>> {
    let directory = open_relative(rustix::fs::CWD, directory)?;
    Ok(list_numbers(directory.as_fd()))
}

/// The fields of a line, separated by spaces or tabs.
pub fn split_fields(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(|byte| matches!(byte, b' ' | b'\t'))
        .filter(|field| !field.is_empty())
}

/// The lines of a file, without the empty ones.
pub fn nonempty_lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
}
