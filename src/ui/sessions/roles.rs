//! The colours of compared sessions.

use crate::tui::theme::StyleRole;

/// Roles of the sessions' curves; further sessions repeat them.
const SESSION_ROLES: [StyleRole; 5] = [
    StyleRole::Plain,
    StyleRole::Read,
    StyleRole::Write,
    StyleRole::Warning,
    StyleRole::Success,
];

/// The role of the session with this index.
pub(super) fn session_role(session: usize) -> StyleRole {
    SESSION_ROLES[session % SESSION_ROLES.len()]
}
