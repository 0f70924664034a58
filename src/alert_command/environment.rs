//! The environment of a command.

use std::ffi::{OsStr, OsString};

use super::account::Account;
use super::identity::{ExecIdentity, IdentityChange};

/// Where root looks for programs, whatever its `PATH` is.
const ROOT_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// One variable.
pub(super) type Variable = (OsString, OsString);

impl ExecIdentity {
    /// The directories of programs.
    #[must_use]
    pub fn program_directories(&self) -> OsString {
        match self.0 {
            IdentityChange::None => std::env::var_os("PATH").unwrap_or_else(|| ROOT_PATH.into()),
            IdentityChange::Root(_) | IdentityChange::To(_) => ROOT_PATH.into(),
        }
    }

    /// The environment of a command, without the facts: that of this process where it is not root.
    /// Otherwise the user's own, of which only language and time zone come from this process, as in
    /// sudo(8).
    pub(super) fn environment(&self, current: impl Iterator<Item = Variable>) -> Vec<Variable> {
        let is_fact = |name: &OsStr| name.as_encoded_bytes().starts_with(b"DISKSCOPE_");
        let current = current.filter(|(name, _)| !is_fact(name));
        match &self.0 {
            IdentityChange::None => current.collect(),
            IdentityChange::Root(account) | IdentityChange::To(account) => current
                .filter(|(name, value)| is_harmless(name, value))
                .chain(own_variables(account))
                .collect(),
        }
    }
}

fn own_variables(account: &Account) -> Vec<Variable> {
    [
        ("PATH", ROOT_PATH),
        ("HOME", &account.home),
        ("USER", &account.name),
        ("LOGNAME", &account.name),
        ("SHELL", &account.shell),
    ]
    .map(|(name, value)| (name.into(), value.into()))
    .into()
}

/// Language and time zone, unless they name a file or a format.
fn is_harmless(name: &OsStr, value: &OsStr) -> bool {
    let (Some(name), Some(value)) = (name.to_str(), value.to_str()) else {
        return false;
    };
    let plain = |extra: &str| {
        let permitted = |letter: char| letter.is_ascii_alphanumeric() || extra.contains(letter);
        value.chars().all(permitted)
    };
    match name {
        "LANG" | "LANGUAGE" => plain("._-@:"),
        "TZ" => plain("/_+-,.") && !value.starts_with('/') && !value.contains(".."),
        _ => name.starts_with("LC_") && plain("._-@"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(change: fn(Account) -> IdentityChange) -> ExecIdentity {
        ExecIdentity(change(Account {
            name: "ann".to_owned(),
            user_id: 1000,
            group_id: 1000,
            groups: vec![1000],
            home: "/home/ann".to_owned(),
            shell: "/bin/zsh".to_owned(),
        }))
    }

    fn names(environment: Vec<Variable>) -> Vec<String> {
        let names = environment.into_iter();
        names
            .map(|(name, value)| format!("{}={}", name.display(), value.display()))
            .collect()
    }

    fn current() -> impl Iterator<Item = Variable> {
        [
            ("LD_PRELOAD", "/tmp/x.so"),
            ("PATH", "/tmp"),
            ("LANG", "de_DE.UTF-8"),
            ("LC_ALL", "../../tmp/x"),
            ("LC_TIME", "C"),
            ("TZ", "Europe/Berlin"),
            ("DISKSCOPE_NAME", "old"),
        ]
        .map(|(name, value)| (name.into(), value.into()))
        .into_iter()
    }

    #[test]
    fn root_passes_language_and_time_zone_only() {
        for identity in [identity(IdentityChange::To), identity(IdentityChange::Root)] {
            let names = names(identity.environment(current()));
            assert_eq!(
                names,
                [
                    "LANG=de_DE.UTF-8",
                    "LC_TIME=C",
                    "TZ=Europe/Berlin",
                    &format!("PATH={ROOT_PATH}"),
                    "HOME=/home/ann",
                    "USER=ann",
                    "LOGNAME=ann",
                    "SHELL=/bin/zsh",
                ]
            );
        }
        for zone in ["/tmp/x", "../../tmp/x", ":/tmp/x", "a b"] {
            assert!(!is_harmless(OsStr::new("TZ"), OsStr::new(zone)), "{zone}");
        }
    }

    #[test]
    fn user_passes_the_whole_environment_but_old_facts() {
        let identity = ExecIdentity(IdentityChange::None);
        let names = names(identity.environment(current()));
        assert_eq!(names.len(), 6, "{names:?}");
        assert!(names.contains(&"LD_PRELOAD=/tmp/x.so".to_owned()));
    }
}
