//! Contexts of key bindings.

/// The context in which a binding applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum KeyContext {
    /// Everywhere, unless the context binds the key itself or takes text.
    Global,
    /// The Live screen.
    Live,
    /// A pane of the Live screen; bindings that are missing here come from the Live context.
    LivePane,
    /// The pane of hot files.
    HotFiles,
    /// The pane of hot files where files cannot be traced.
    HotFilesUnavailable,
    /// The list of units; bindings that are missing here come from the Live context.
    Units,
    /// The Live screen with a recording; bindings that are missing here come from the Live context.
    Replay,
    /// The Requests screen with a recording. It has no bindings of its own: the replay bindings
    /// apply, and those missing there come from the Requests context.
    RecordedRequests,
    /// Typing the time to go to, or what to search, in a recording.
    ReplayField,
    /// Typing the filter of a list.
    Filter,
    /// The launcher, its lists of targets and benchmarks.
    Launcher,
    /// Typing a search, or a path, in the launcher.
    Search,
    /// The launcher's form.
    Form,
    /// Typing a value of the form.
    Field,
    /// Typing the path of the target to overwrite.
    OverwriteConsent,
    /// The target cannot be overwritten: nothing to confirm.
    OverwriteRefused,
    /// Keys that edit text; they apply in every context that takes text.
    TextEditing,
    /// A benchmark that runs.
    Running,
    /// The result of a run.
    Result,
    /// The Requests screen.
    Requests,
    /// The Requests screen before the first requests of a device.
    RequestsAwaited,
    /// The Requests screen where no device can be traced.
    RequestsUnavailable,
    /// The Why screen.
    Why,
    /// The Why screen with a recording. It has no bindings of its own: the replay bindings apply, and
    /// those missing there come from the Why context.
    RecordedWhy,
    /// The list of saved sessions.
    Sessions,
    /// Typing the note of a session.
    Note,
    /// Whether a session is deleted.
    Deletion,
    /// Comparison of sessions.
    Comparison,
    /// The help.
    Help,
    /// Typing the search of the help.
    HelpSearch,
    /// A yes/no question.
    Question,
    /// A question about something that cannot be undone: Enter does not confirm it.
    DestructiveQuestion,
    /// A list to choose from.
    ChoiceList,
}

impl KeyContext {
    /// Every context with bindings of its own, in the order of the help.
    pub const ALL: [Self; 31] = [
        Self::Global,
        Self::Live,
        Self::LivePane,
        Self::Units,
        Self::HotFiles,
        Self::HotFilesUnavailable,
        Self::Replay,
        Self::ReplayField,
        Self::Filter,
        Self::Launcher,
        Self::Search,
        Self::Form,
        Self::Field,
        Self::OverwriteConsent,
        Self::OverwriteRefused,
        Self::TextEditing,
        Self::Running,
        Self::Result,
        Self::Requests,
        Self::RequestsAwaited,
        Self::RequestsUnavailable,
        Self::Why,
        Self::Sessions,
        Self::Note,
        Self::Deletion,
        Self::Comparison,
        Self::Help,
        Self::HelpSearch,
        Self::Question,
        Self::DestructiveQuestion,
        Self::ChoiceList,
    ];

    /// Its heading.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Global => "Global",
            Self::Live => "Live",
            Self::LivePane => "Live: panes",
            Self::Units => "Live: services and containers",
            Self::HotFiles => "Hot files",
            Self::HotFilesUnavailable => "Hot files: tracing not possible",
            Self::Replay | Self::RecordedRequests | Self::RecordedWhy => "Replay of a recording",
            Self::ReplayField => "Replay: time or search",
            Self::Filter => "Filter",
            Self::Launcher => "Bench: launcher",
            Self::Form => "Bench: parameters",
            Self::Search => "Bench: search",
            Self::Field => "Bench: editing a value",
            Self::OverwriteConsent => "Bench: consent to overwrite",
            Self::OverwriteRefused => "Bench: target that cannot be overwritten",
            Self::TextEditing => "Text fields",
            Self::Running => "Bench: running",
            Self::Result => "Result",
            Self::Requests => "Requests",
            Self::RequestsAwaited => "Requests: none yet",
            Self::RequestsUnavailable => "Requests: tracing not possible",
            Self::Why => "Why",
            Self::Sessions => "Sessions",
            Self::Note => "Sessions: note",
            Self::Deletion => "Sessions: deletion",
            Self::Comparison => "Sessions: comparison",
            Self::Help => "Help",
            Self::HelpSearch => "Help: search",
            Self::Question => "Questions",
            Self::DestructiveQuestion => "Questions about what cannot be undone",
            Self::ChoiceList => "Choice of an action on a process",
        }
    }

    /// The contexts to look up, in order; both are often the same.
    #[must_use]
    pub fn lookup_chain(self) -> [Self; 2] {
        match self {
            Self::LivePane => [Self::LivePane, Self::Live],
            Self::Units => [Self::Units, Self::Live],
            Self::Replay => [Self::Replay, Self::Live],
            Self::RecordedRequests => [Self::Replay, Self::Requests],
            Self::RecordedWhy => [Self::Replay, Self::Why],
            typing if typing.takes_text() => [typing, Self::TextEditing],
            other => [other, other],
        }
    }

    /// Whether characters are text input here, so that global bindings apply only with Ctrl.
    #[must_use]
    pub fn takes_text(self) -> bool {
        matches!(
            self,
            Self::Filter
                | Self::ReplayField
                | Self::Search
                | Self::Field
                | Self::OverwriteConsent
                | Self::HelpSearch
                | Self::Note
        )
    }

    /// Whether a single key answers a question here. Such a key acts only after the question was
    /// shown, and any key that is no answer closes the question.
    #[must_use]
    pub fn is_question(self) -> bool {
        matches!(
            self,
            Self::Question | Self::DestructiveQuestion | Self::Deletion | Self::ChoiceList
        )
    }

    /// Whether only its own bindings and those with Ctrl apply here.
    #[must_use]
    pub fn is_modal(self) -> bool {
        self.takes_text()
            || self.is_question()
            || matches!(self, Self::Help | Self::OverwriteRefused)
    }
}
