//! Advice to run as root, omitted for root.

use rustix::process::geteuid;

/// Whether this process is root.
#[must_use]
pub fn is_root() -> bool {
    geteuid().is_root()
}

/// `try as root ...` with the given text, or other advice for root.
#[must_use]
pub fn root_advice(with: &str, otherwise: &str) -> String {
    advice_for(is_root(), with, otherwise)
}

fn advice_for(is_root: bool, with: &str, otherwise: &str) -> String {
    match is_root {
        true => otherwise.to_owned(),
        false => format!("try as root{with}"),
    }
}

#[cfg(test)]
mod tests {
    use super::advice_for;

    #[test]
    fn root_advice_is_omitted_for_root() {
        assert_eq!(
            advice_for(false, " (sudo)", "mount it"),
            "try as root (sudo)"
        );
        assert_eq!(advice_for(true, " (sudo)", "mount it"), "mount it");
    }
}
