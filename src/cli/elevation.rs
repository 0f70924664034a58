//! Whether the program's file gave this process rights that its user does not have.
//!
//! Environment, arguments and the working directory come from the user. A set-uid, set-gid or
//! setcap copy of the program would therefore apply its rights to any user's files. The kernel
//! marks such a process with AT_SECURE (security/commoncap.c, `cap_bprm_creds_from_file`). This
//! module evaluates the same conditions: real and effective ids that differ, and permitted
//! capabilities of an ordinary user beyond the ambient ones. Ambient capabilities are the caller's
//! own, set by systemd or setpriv.

use rustix::process::{getegid, geteuid, getgid, getuid};
use rustix::thread::{CapabilitySet, capabilities, capability_is_in_ambient_set};

/// The source of the process's additional rights.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PrivilegeSource {
    /// The program's file is set-uid or set-gid.
    SetUserId,
    /// The program's file has capabilities.
    FileCapabilities,
    /// The process's capabilities cannot be read.
    Unknown,
}

impl PrivilegeSource {
    /// The source for this process; `None` if the process has only its user's rights.
    pub(super) fn of_process() -> Option<Self> {
        let user = getuid();
        if user != geteuid() || getgid() != getegid() {
            return Some(Self::SetUserId);
        }
        // Root has all capabilities without file capabilities.
        if user.is_root() {
            return None;
        }
        let Ok(sets) = capabilities(None) else {
            return Some(Self::Unknown);
        };
        let beyond = sets.permitted.iter().any(|one: CapabilitySet| {
            // Kernels before 4.3 have no ambient capabilities.
            !capability_is_in_ambient_set(one).unwrap_or(false)
        });
        beyond.then_some(Self::FileCapabilities)
    }

    /// Why the program refuses to run, and what to do.
    pub(super) fn refusal_text(self) -> &'static str {
        match self {
            Self::SetUserId => {
                "refused: the program file is set-uid or set-gid; remove these bits (chmod ug-s) and use sudo, or set ambient capabilities (setpriv --ambient-caps, \
                 AmbientCapabilities= in a systemd unit)"
            }
            Self::FileCapabilities => {
                "refused: the program file has capabilities; remove them (setcap -r) and set ambient ones (setpriv --ambient-caps, AmbientCapabilities= in a systemd unit)"
            }
            Self::Unknown => "refused: cannot read this process's own capabilities (capget)",
        }
    }
}

#[cfg(test)]
mod unit_tests {
    use super::*;

    #[test]
    fn process_with_user_rights_is_not_elevated() {
        assert_eq!(PrivilegeSource::of_process(), None);
    }
}
