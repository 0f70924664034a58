//! Texts about open files.

use crate::snapshot::files::ContentUser;

/// What is said of a deleted file whose content is needed.
#[must_use]
pub const fn needed_content_note(user: ContentUser) -> &'static str {
    match user {
        ContentUser::Benchmark => {
            "scratch or output file of a running benchmark, which needs it until it ends"
        }
        ContentUser::Kernel => "the kernel may use it for a loop device, as swap or for an export",
        ContentUser::Process => "end or restart it; it may need the content",
    }
}
