//! Lines of a mount table, `/proc/PID/mountinfo` (proc_pid_mountinfo(5)).

/// One mount. The fields are as the kernel writes them: [`unescape`] returns the plain text of a
/// path or a source.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MountinfoLine<'a> {
    /// Mount ID.
    pub(crate) id: &'a [u8],
    /// ID of the mount that it is mounted on.
    pub(crate) parent: &'a [u8],
    /// `st_dev` of its files, `MAJOR:MINOR`.
    pub(crate) device_number: &'a [u8],
    /// Root of the mount within the file system.
    pub(crate) root: &'a [u8],
    /// Mount point.
    pub(crate) mount_point: &'a [u8],
    /// Options of the mount, separated by commas.
    pub(crate) options: &'a [u8],
    /// File system type.
    pub(crate) file_system: &'a [u8],
    /// Mount source.
    pub(crate) source: &'a [u8],
    /// Options of the file system, separated by commas.
    pub(crate) super_options: &'a [u8],
}

impl<'a> MountinfoLine<'a> {
    /// Parses `ID PARENT MAJOR:MINOR ROOT POINT OPTIONS [FIELD...] - TYPE SOURCE OPTIONS`.
    pub(crate) fn parse(line: &'a [u8]) -> Option<Self> {
        let separator = line.windows(3).position(|bytes| bytes == b" - ")?;
        let mut front = line[..separator].split(|byte| *byte == b' ');
        let mut back = line[separator + 3..].split(|byte| *byte == b' ');
        Some(Self {
            id: front.next()?,
            parent: front.next()?,
            device_number: front.next()?,
            root: front.next()?,
            mount_point: front.next()?,
            options: front.next()?,
            file_system: back.next()?,
            source: back.next()?,
            super_options: back.next().unwrap_or_default(),
        })
    }

    /// Whether the file system has this option.
    pub(crate) fn has_super_option(&self, option: &str) -> bool {
        let mut options = self.super_options.split(|byte| *byte == b',');
        options.any(|own| own == option.as_bytes())
    }
}

/// The mounts of a table.
pub(crate) fn mountinfo_lines(table: &[u8]) -> impl Iterator<Item = MountinfoLine<'_>> {
    table
        .split(|byte| *byte == b'\n')
        .filter_map(MountinfoLine::parse)
}

/// Undoes the escapes of a field: the kernel writes space, tab, newline and backslash as `\` and
/// three octal digits.
pub(crate) fn unescape(field: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&byte, after)) = rest.split_first() {
        let code = after
            .get(..3)
            .filter(|_| byte == b'\\')
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 8).ok());
        plain.push(code.unwrap_or(byte));
        rest = if code.is_some() { &after[3..] } else { after };
    }
    plain
}

/// A path as the kernel writes it into a mount table.
pub(crate) fn escape(path: &str) -> String {
    let mut escaped = String::with_capacity(path.len());
    for character in path.chars() {
        match character {
            ' ' => escaped.push_str("\\040"),
            '\t' => escaped.push_str("\\011"),
            '\n' => escaped.push_str("\\012"),
            '\\' => escaped.push_str("\\134"),
            plain => escaped.push(plain),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn line_of_mount_table_is_split_into_fields() {
        let table = b"nonsense\n - cgroup2 x rw\n\
            36 35 98:0 /mnt1 /mnt/my\\040disk rw,noatime master:1 - ext3 /dev/root rw,errors=continue\n";
        let [line] = mountinfo_lines(table).collect::<Vec<_>>()[..] else {
            panic!("one line is complete");
        };
        assert_eq!((line.id, line.parent), (&b"36"[..], &b"35"[..]));
        assert_eq!(line.device_number, b"98:0");
        assert_eq!(
            (line.root, line.options),
            (&b"/mnt1"[..], &b"rw,noatime"[..])
        );
        assert_eq!(unescape(line.mount_point), b"/mnt/my disk");
        assert_eq!(
            (line.file_system, line.source),
            (&b"ext3"[..], &b"/dev/root"[..])
        );
        assert!(line.has_super_option("errors=continue") && !line.has_super_option("errors"));
    }

    #[test]
    fn escape_has_three_octal_digits() {
        assert_eq!(unescape(br"a\134b\04"), br"a\b\04");
        assert_eq!(unescape(br"\011"), b"\t");
        assert_eq!(escape("/a b\\c\t\n"), r"/a\040b\134c\011\012");
    }

    /// As the kernel writes a path (fs/proc_namespace.c, `mangle`; `#` only in newer kernels).
    fn escaped(path: &[u8]) -> Vec<u8> {
        let escape = |byte: &u8| match byte {
            b' ' | b'\t' | b'\n' | b'\\' | b'#' => format!("\\{byte:03o}").into_bytes(),
            plain => vec![*plain],
        };
        path.iter().flat_map(escape).collect()
    }

    proptest! {
        #[test]
        fn escaped_paths_are_read_back(
            root in prop::collection::vec(1_u8..=255, 1..20),
            point in prop::collection::vec(prop_oneof![1_u8..=255, Just(b'\\'), Just(b' '), Just(b'-')], 1..20),
            source in prop::collection::vec(1_u8..=255, 1..20),
        ) {
            // Root and mount point are absolute paths: neither is the separator alone.
            let (root, point) = ([&b"/"[..], &root].concat(), [&b"/"[..], &point].concat());
            let mut line = b"36 35 98:0 ".to_vec();
            line.extend(escaped(&root));
            line.push(b' ');
            line.extend(escaped(&point));
            line.extend(b" rw,noatime master:1 - fuse.x ");
            line.extend(escaped(&source));
            line.extend(b" rw\n");
            let [read] = mountinfo_lines(&line).collect::<Vec<_>>()[..] else {
                return Err(TestCaseError::fail("one line"));
            };
            prop_assert_eq!(unescape(read.root), root);
            prop_assert_eq!(unescape(read.mount_point), point);
            prop_assert_eq!(unescape(read.source), source);
            prop_assert_eq!(read.file_system, b"fuse.x");
        }

        #[test]
        fn any_table_is_read(table: Vec<u8>) {
            let lines = table.split(|byte| *byte == b'\n').count();
            prop_assert!(mountinfo_lines(&table).count() <= lines);
            prop_assert!(unescape(&table).len() <= table.len());
        }
    }
}
