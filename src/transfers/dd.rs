//! What the arguments of dd tell of its transfer (POSIX dd, and GNU coreutils' iflag=count_bytes).

use crate::units;

/// Arguments of dd.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DdArguments {
    /// Where it stops in its input; `None` without `count`: then the end of the input decides.
    pub input_end: Option<u64>,
    /// Where it stops in its output; `None` without `count`.
    pub output_end: Option<u64>,
    /// Whether it waits at its end until everything is on the device: `conv=fsync`.
    pub flushes_at_end: bool,
}

impl DdArguments {
    /// Those in the arguments of the process, each terminated by a zero byte.
    #[must_use]
    pub fn parse(arguments: &[u8]) -> Self {
        let words = Words(arguments);
        let ends = words.ends();
        Self {
            input_end: ends.map(|(input, _)| input),
            output_end: ends.map(|(_, output)| output),
            flushes_at_end: words.has_flag("conv", "fsync") || words.has_flag("conv", "fdatasync"),
        }
    }
}

/// Words `name=value`.
struct Words<'a>(&'a [u8]);

impl<'a> Words<'a> {
    fn value(&self, name: &str) -> Option<&'a [u8]> {
        let words = self.0.split(|byte| *byte == 0);
        words
            .filter_map(|word| word.strip_prefix(name.as_bytes())?.strip_prefix(b"="))
            .next_back()
    }

    fn has_flag(&self, name: &str, flag: &str) -> bool {
        let mut flags = self.value(name).unwrap_or_default().split(|it| *it == b',');
        flags.any(|it| it == flag.as_bytes())
    }

    /// The end offsets of input and output in bytes.
    fn ends(&self) -> Option<(u64, u64)> {
        let (input, output) = (self.block("ibs")?, self.block("obs")?);
        self.value("count")?;
        let count = self.bytes("count", self.has_flag("iflag", "count_bytes"), input)?;
        let skipped = self.bytes("skip", self.has_flag("iflag", "skip_bytes"), input)?;
        let sought = self.bytes("seek", self.has_flag("oflag", "seek_bytes"), output)?;
        Some((skipped.checked_add(count)?, sought.checked_add(count)?))
    }

    /// The size of a block.
    fn block(&self, name: &str) -> Option<u64> {
        match self.value("bs").or_else(|| self.value(name)) {
            Some(text) => parse_size(text),
            None => Some(512),
        }
    }

    /// Bytes of a number of blocks; one that ends in `B` counts bytes (coreutils 9.1).
    fn bytes(&self, name: &str, counts_bytes: bool, block: u64) -> Option<u64> {
        let Some(text) = self.value(name) else {
            return Some(0);
        };
        let counts_bytes = counts_bytes || matches!(text, [.., b'0'..=b'9', b'B']);
        parse_size(text)?.checked_mul(if counts_bytes { 1 } else { block })
    }
}

/// A number with a suffix: `k`, `KiB`, `MB`, `G` ...: binary alone and with `iB`, decimal with `B`.
fn parse_size(text: &[u8]) -> Option<u64> {
    units::parse_size(&units::expand_fio_units(std::str::from_utf8(text).ok()?)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> Option<(u64, u64)> {
        let words = line.replace(' ', "\0");
        let found = DdArguments::parse(words.as_bytes());
        found.input_end.zip(found.output_end)
    }

    #[test]
    fn dd_end_is_computed_from_count_and_block_size() {
        assert_eq!(
            of("dd if=/dev/zero of=x bs=1M count=200"),
            Some((200 << 20, 200 << 20))
        );
        assert_eq!(of("dd if=a of=b count=3"), Some((1536, 1536)));
        assert_eq!(of("dd bs=1kB count=2 skip=1 seek=3"), Some((3000, 5000)));
        assert_eq!(of("dd ibs=4k obs=8k count=2 seek=1"), Some((8192, 16384)));
        assert_eq!(
            of("dd bs=1M count=1G iflag=fullblock,count_bytes"),
            Some((1 << 30, 1 << 30))
        );
        assert_eq!(of("dd bs=8k count=10B"), Some((10, 10)));
    }

    #[test]
    fn dd_without_count_has_no_limit() {
        assert_eq!(of("dd if=a of=b bs=1M"), None);
        assert_eq!(of("dd bs=1M count=what"), None);
        assert_eq!(of("dd bs=9E count=9E"), None);
    }
}
