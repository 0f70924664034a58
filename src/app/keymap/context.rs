//! Where keys hold.

/// Where a binding holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum KeyContext {
    /// Everywhere, unless the context binds the key itself or takes text.
    Global,
    /// The Live screen.
    Live,
    /// The Live screen showing a recording; what is not bound here is as in [`Context::Live`].
    Replay,
    /// The Requests screen showing a recording. It has no keys of its own: those of
    /// [`Context::Replay`] hold, and what is not bound there is as in [`Context::Requests`].
    RecordedRequests,
    /// Typing the filter of a list.
    Filter,
    /// The launcher, its lists of targets and tests.
    Launcher,
    /// Typing a search, or a path, in the launcher.
    Search,
    /// The launcher's form.
    Form,
    /// Typing a value of the form.
    Field,
    /// Typing the path of what is to be overwritten.
    OverwriteConsent,
    /// The keys that edit a text; they hold in every context that takes text.
    TextEditing,
    /// A benchmark that runs.
    Running,
    /// The result of a run.
    Result,
    /// The Requests screen.
    Requests,
    /// The list of saved sessions.
    Sessions,
    /// Sessions against each other.
    Comparison,
    /// The help.
    Help,
    /// A question that wants yes or no.
    Question,
    /// A list to choose from.
    ChoiceList,
}

impl KeyContext {
    /// Every context with keys of its own, in the order in which the help lists them.
    pub const ALL: [Self; 18] = [
        Self::Global,
        Self::Live,
        Self::Replay,
        Self::Filter,
        Self::Launcher,
        Self::Search,
        Self::Form,
        Self::Field,
        Self::OverwriteConsent,
        Self::TextEditing,
        Self::Running,
        Self::Result,
        Self::Requests,
        Self::Sessions,
        Self::Comparison,
        Self::Help,
        Self::Question,
        Self::ChoiceList,
    ];

    /// Its heading.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Global => "Everywhere",
            Self::Live => "Live",
            Self::Replay | Self::RecordedRequests => "Replaying a recording",
            Self::Filter => "Typing a filter",
            Self::Launcher => "Bench, choosing",
            Self::Form => "Bench, parameters",
            Self::Search => "Bench, searching",
            Self::Field => "Bench, typing a value",
            Self::OverwriteConsent => "Bench, before something is overwritten",
            Self::TextEditing => "In every text field",
            Self::Running => "Bench, running",
            Self::Result => "Result",
            Self::Requests => "Requests",
            Self::Sessions => "Sessions",
            Self::Comparison => "Sessions, compared",
            Self::Help => "Help",
            Self::Question => "Questions",
            Self::ChoiceList => "Choosing what to do to a process",
        }
    }

    /// The contexts whose keys hold here: the first one's, and then the second one's, which is
    /// often the same.
    #[must_use]
    pub fn lookup_chain(self) -> [Self; 2] {
        match self {
            Self::Replay => [Self::Replay, Self::Live],
            Self::RecordedRequests => [Self::Replay, Self::Requests],
            typing if typing.takes_text() => [typing, Self::TextEditing],
            other => [other, other],
        }
    }

    /// Whether characters are typed into a text here, so that the keys of [`Context::Anywhere`]
    /// hold only together with Ctrl.
    #[must_use]
    pub fn takes_text(self) -> bool {
        matches!(
            self,
            Self::Filter | Self::Search | Self::Field | Self::OverwriteConsent
        )
    }

    /// Whether nothing but its own keys and those with Ctrl hold here.
    #[must_use]
    pub(super) fn is_modal(self) -> bool {
        self.takes_text() || matches!(self, Self::Help | Self::Question | Self::ChoiceList)
    }
}
