//! As which user a command runs.

use std::fs;

use super::account::{Account, AccountFiles};
use crate::privilege;

/// Who has started this program.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Invoker {
    /// Whether this process is root.
    pub is_root: bool,
    /// User id in `SUDO_UID` or `PKEXEC_UID`.
    pub user_id: Option<String>,
    /// Group id in `SUDO_GID`.
    pub group_id: Option<String>,
}

impl Invoker {
    /// That of this process.
    #[must_use]
    pub fn of_process() -> Self {
        let variable =
            |name: &str| std::env::var_os(name).map(|it| it.to_string_lossy().into_owned());
        Self {
            is_root: privilege::is_root(),
            user_id: variable("SUDO_UID").or_else(|| variable("PKEXEC_UID")),
            group_id: variable("SUDO_GID"),
        }
    }
}

/// As which user a command runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecIdentity(pub(super) IdentityChange);

/// What changes between this process and the command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum IdentityChange {
    /// This process is not root: nothing but its ambient capabilities, which are dropped.
    None,
    /// It stays root.
    Root(Account),
    /// It becomes that user.
    To(Account),
}

/// Why the user cannot be determined.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IdentityError {
    /// `SUDO_UID` or `SUDO_GID` is no number.
    #[error(
        "--exec: the user who called sudo is unknown ({variable} is {value:?}); name one with --exec-user"
    )]
    InvalidVariable {
        /// Name of the variable.
        variable: &'static str,
        /// Its value.
        value: String,
    },
    /// There is no such user.
    #[error("--exec-user: there is no user {0:?} in /etc/passwd")]
    UnknownUser(String),
    /// This process is not root.
    #[error("--exec-user: only root can run the command as another user")]
    NotRoot,
}

impl ExecIdentity {
    /// The user that `--exec-user` names. Without it the one who called sudo or pkexec; root where
    /// root itself started the program.
    ///
    /// # Errors
    /// If there is no such user, or this process is not root and another user is named.
    pub fn decide(requested: Option<&str>, invoker: &Invoker) -> Result<Self, IdentityError> {
        let read = |path: &str| {
            let bytes = fs::read(path).unwrap_or_default();
            String::from_utf8_lossy(&bytes).into_owned()
        };
        let (passwd, group) = (read("/etc/passwd"), read("/etc/group"));
        let files = AccountFiles {
            passwd: &passwd,
            group: &group,
        };
        decide(requested, invoker, files).map(Self)
    }

    /// Whether the command runs as root.
    #[must_use]
    pub fn is_root(&self) -> bool {
        matches!(self.0, IdentityChange::Root(_))
    }
}

fn decide(
    requested: Option<&str>,
    invoker: &Invoker,
    files: AccountFiles<'_>,
) -> Result<IdentityChange, IdentityError> {
    if !invoker.is_root {
        return match requested {
            Some(_) => Err(IdentityError::NotRoot),
            None => Ok(IdentityChange::None),
        };
    }
    let account = match (requested, &invoker.user_id) {
        (Some(name), _) => files
            .find(name)
            .ok_or_else(|| IdentityError::UnknownUser(name.to_owned()))?,
        (None, Some(user)) => {
            let user_id = parse_id("SUDO_UID", user)?;
            match &invoker.group_id {
                Some(group) => files.find_id(user_id, parse_id("SUDO_GID", group)?),
                // pkexec(1) names the user only.
                None => files
                    .find(&user_id.to_string())
                    .unwrap_or_else(|| files.find_id(user_id, user_id)),
            }
        }
        (None, None) => files.find_id(0, 0),
    };
    Ok(match account.user_id {
        0 => IdentityChange::Root(account),
        _ => IdentityChange::To(account),
    })
}

/// -1 means "unchanged" to the kernel (setresuid(2)).
fn parse_id(variable: &'static str, value: &str) -> Result<u32, IdentityError> {
    let id = value.parse().ok().filter(|id| *id != u32::MAX);
    id.ok_or_else(|| IdentityError::InvalidVariable {
        variable,
        value: value.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILES: AccountFiles<'_> = AccountFiles {
        passwd: "root:x:0:0:root:/root:/bin/bash\nann:x:1000:1000::/home/ann:/bin/zsh\n",
        group: "root:x:0:\nadm:x:4:ann\nann:x:1000:\n",
    };

    fn root(user: Option<&str>, group: Option<&str>) -> Invoker {
        Invoker {
            is_root: true,
            user_id: user.map(str::to_owned),
            group_id: group.map(str::to_owned),
        }
    }

    fn user_of(change: &IdentityChange) -> (u32, &[u32]) {
        match change {
            IdentityChange::To(account) | IdentityChange::Root(account) => {
                (account.user_id, &account.groups)
            }
            IdentityChange::None => panic!("unchanged"),
        }
    }

    #[test]
    fn command_of_sudo_runs_as_the_user_who_called_it() {
        let change = decide(None, &root(Some("1000"), Some("1000")), FILES).unwrap();
        assert!(matches!(change, IdentityChange::To(_)));
        assert_eq!(user_of(&change), (1000, &[4, 1000][..]));
        let by_pkexec = decide(None, &root(Some("1000"), None), FILES).unwrap();
        assert_eq!(by_pkexec, change);
        let unknown = decide(None, &root(Some("70000"), Some("70001")), FILES).unwrap();
        assert_eq!(user_of(&unknown), (70_000, &[70_001][..]));
    }

    #[test]
    fn command_stays_root_only_when_root_started_the_program_or_on_request() {
        for (requested, invoker) in [
            (None, root(None, None)),
            (None, root(Some("0"), Some("0"))),
            (Some("root"), root(Some("1000"), Some("1000"))),
            (Some("0"), root(Some("1000"), Some("1000"))),
        ] {
            let change = decide(requested, &invoker, FILES).unwrap();
            assert!(matches!(change, IdentityChange::Root(_)), "{requested:?}");
        }
        let change = decide(Some("ann"), &root(None, None), FILES).unwrap();
        assert_eq!(user_of(&change).0, 1000);
    }

    #[test]
    fn unclear_user_is_refused() {
        for (user, group) in [
            ("", "1000"),
            ("-1", "1000"),
            ("4294967295", "1000"),
            ("1000", "ann"),
            ("1000", "4294967295"),
        ] {
            let invoker = root(Some(user), Some(group));
            assert!(decide(None, &invoker, FILES).is_err(), "{user} {group}");
        }
        assert!(decide(Some("bob"), &root(None, None), FILES).is_err());
        let user = Invoker::default();
        assert_eq!(decide(None, &user, FILES), Ok(IdentityChange::None));
        assert_eq!(
            decide(Some("root"), &user, FILES),
            Err(IdentityError::NotRoot)
        );
    }
}
