//! Temporary names of files that are renamed when they are complete.

/// The final name of a file: rsync writes `.NAME.XXXXXX` (mkstemp(3)) and renames it when it is
/// complete.
#[must_use]
pub fn final_path(path: &[u8]) -> Vec<u8> {
    let name = base_name(path);
    match without_temporary_suffix(name) {
        Some(lasting) => [&path[..path.len() - name.len()], lasting].concat(),
        None => path.to_vec(),
    }
}

/// The final name that a temporary one stands for; `None` if it is not temporary.
#[must_use]
pub fn without_temporary_suffix(name: &[u8]) -> Option<&[u8]> {
    let inner = name.strip_prefix(b".")?;
    let (lasting, suffix) = inner.split_at_checked(inner.len().checked_sub(7)?)?;
    let random = suffix.strip_prefix(b".")?;
    (!lasting.is_empty() && random.iter().all(u8::is_ascii_alphanumeric)).then_some(lasting)
}

/// The last component of a path.
#[must_use]
pub fn base_name(path: &[u8]) -> &[u8] {
    path.rsplit(|byte| *byte == b'/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rsync_temporary_name_maps_to_final_name() {
        assert_eq!(final_path(b"/b/.vm.raw.aB3dE9"), b"/b/vm.raw");
        assert_eq!(final_path(b"/b/vm.raw"), b"/b/vm.raw");
        assert_eq!(final_path(b"/b/.hidden"), b"/b/.hidden");
        assert_eq!(final_path(b".x.123456"), b"x");
        assert_eq!(final_path(b""), b"");
    }
}
