//! Advice to become root, which is given to nobody who is root.

use rustix::process::geteuid;

/// Whether this process is root.
#[must_use]
pub fn is_root() -> bool {
    geteuid().is_root()
}

/// `try as root ...` with what belongs to it, or other advice for root.
#[must_use]
pub fn as_root_or(with: &str, otherwise: &str) -> String {
    advice(is_root(), with, otherwise)
}

fn advice(is_root: bool, with: &str, otherwise: &str) -> String {
    match is_root {
        true => otherwise.to_owned(),
        false => format!("try as root{with}"),
    }
}

#[cfg(test)]
mod tests {
    use super::advice;

    #[test]
    fn root_is_not_advised_to_become_root() {
        assert_eq!(advice(false, " (sudo)", "mount it"), "try as root (sudo)");
        assert_eq!(advice(true, " (sudo)", "mount it"), "mount it");
    }
}
