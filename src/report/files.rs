//! Texts about open files.

use crate::model::files::ContentUser;

/// What is said of a deleted file whose content is needed.
#[must_use]
pub const fn needed_content_note(user: ContentUser) -> &'static str {
    match user {
        ContentUser::Benchmark => "scratch file of a running benchmark, freed when that ends",
        ContentUser::Kernel => "a device, swap or an export may be on it, which needs its content",
        ContentUser::Process => "end or restart it; it may need the content",
    }
}
