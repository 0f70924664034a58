//! What the arguments of dd tell of its transfer (POSIX dd, and GNU coreutils' iflag=count_bytes).

/// Arguments of dd.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DdArguments {
    /// Where it stops; `None` without `count`: then the end of the input decides.
    pub limits: Option<DdLimits>,
    /// Whether it waits at its end until everything is on the device: `conv=fsync`.
    pub flushes_at_end: bool,
}

impl DdArguments {
    /// Those in the arguments of the process, each terminated by a zero byte.
    #[must_use]
    pub fn parse(arguments: &[u8]) -> Self {
        let conversions = arguments
            .split(|byte| *byte == 0)
            .filter_map(|word| word.strip_prefix(b"conv="))
            .flat_map(|list| list.split(|byte| *byte == b','));
        let mut flushes = conversions.filter(|it| matches!(*it, b"fsync" | b"fdatasync"));
        Self {
            limits: dd_limits(arguments),
            flushes_at_end: flushes.next().is_some(),
        }
    }
}

/// The end offsets of input and output in bytes.
fn dd_limits(arguments: &[u8]) -> Option<DdLimits> {
    let value = |name: &str| {
        arguments
            .split(|byte| *byte == 0)
            .filter_map(|word| word.strip_prefix(name.as_bytes())?.strip_prefix(b"="))
            .next_back()
    };
    let has_flag = |name: &str, flag: &str| {
        value(name).is_some_and(|flags| {
            flags
                .split(|byte| *byte == b',')
                .any(|word| word == flag.as_bytes())
        })
    };
    let block = |own: &str| match value("bs").or_else(|| value(own)) {
        Some(text) => parse_size(text),
        None => Some(512),
    };
    let (input_block, output_block) = (block("ibs")?, block("obs")?);
    let (count, count_in_bytes) = parse_count(value("count")?)?;
    let unit = if count_in_bytes || has_flag("iflag", "count_bytes") {
        1
    } else {
        input_block
    };
    let bytes = count.checked_mul(unit)?;
    let offset = |names: [&str; 2], flag: &str, bytes_flag: &str, block: u64| {
        let Some(text) = names.into_iter().find_map(value) else {
            return Some(0);
        };
        let (number, in_bytes) = parse_count(text)?;
        if in_bytes || has_flag(flag, bytes_flag) {
            Some(number)
        } else {
            number.checked_mul(block)
        }
    };
    let skipped = offset(["skip", "iseek"], "iflag", "skip_bytes", input_block)?;
    let sought = offset(["seek", "oseek"], "oflag", "seek_bytes", output_block)?;
    Some(DdLimits {
        input_end: skipped.checked_add(bytes)?,
        output_end: sought.checked_add(bytes)?,
    })
}

/// Offsets at which dd stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DdLimits {
    /// In its input.
    pub input_end: u64,
    /// In its output.
    pub output_end: u64,
}

/// A number of dd, and whether it ends in `B`, which counts bytes instead of blocks (coreutils
/// 9.1).
fn parse_count(text: &[u8]) -> Option<(u64, bool)> {
    let in_bytes = matches!(text, [.., b'0'..=b'9', b'B']);
    Some((parse_size(text)?, in_bytes))
}

/// Factors joined by `x`, each a number with a suffix.
fn parse_size(text: &[u8]) -> Option<u64> {
    std::str::from_utf8(text)
        .ok()?
        .split('x')
        .try_fold(1_u64, |product, factor| {
            product.checked_mul(parse_number(factor)?)
        })
}

fn parse_number(text: &str) -> Option<u64> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, suffix) = text.split_at(digits);
    let number: u64 = number.parse().ok()?;
    let factor = match suffix {
        "" | "c" | "B" => 1,
        "w" => 2,
        "b" => 512,
        _ => suffix_factor(suffix)?,
    };
    number.checked_mul(factor)
}

/// `k`, `KiB`, `MB`, `G` ...: binary alone and with `iB`, decimal with `B`.
fn suffix_factor(suffix: &str) -> Option<u64> {
    let letter = suffix.chars().next()?;
    let exponent = "KMGTPE".find(letter.to_ascii_uppercase())? as u32 + 1;
    match &suffix[1..] {
        "" | "iB" => 1024_u64.checked_pow(exponent),
        "B" => 1000_u64.checked_pow(exponent),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> Option<(u64, u64)> {
        let words = line.replace(' ', "\0");
        let limits = DdArguments::parse(words.as_bytes()).limits;
        limits.map(|limits| (limits.input_end, limits.output_end))
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
        assert_eq!(of("dd bs=2x4k count=10B"), Some((10, 10)));
    }

    #[test]
    fn dd_without_count_has_no_limit() {
        assert_eq!(of("dd if=a of=b bs=1M"), None);
        assert_eq!(of("dd bs=1M count=what"), None);
        assert_eq!(of("dd bs=9E count=9E"), None);
    }
}
