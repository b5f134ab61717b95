//! What a key can mean, on the main screen and in the tree. One table each: they feed the key map,
//! its file and the list of keys.

/// Groups of the list of keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    /// Sending, stopping, leaving.
    Talk,
    /// What is shown.
    Show,
    /// Moving through the transcript.
    Scroll,
    /// Editing what is being written.
    Edit,
}

impl Group {
    /// All groups in the order of the list.
    pub const ALL: [Self; 4] = [Self::Talk, Self::Show, Self::Scroll, Self::Edit];

    /// The group's heading.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::Talk => "talk",
            Self::Show => "show",
            Self::Scroll => "scroll",
            Self::Edit => "write",
        }
    }
}

/// What keys can be given to.
pub trait Bindable: Copy + Eq + std::hash::Hash + 'static {
    /// All of them in the order of the list.
    const ALL: &'static [Self];

    /// The name in key map files.
    fn name(self) -> &'static str;

    /// What it does, in a few words.
    fn help(self) -> &'static str;

    /// The one of that name in key map files.
    fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|action| action.name() == name)
    }
}

macro_rules! actions {
    ($doc:literal $type:ident: $($variant:ident $name:literal $help:literal,)*) => {
        #[doc = $doc]
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $type {
            $(#[doc = $help] $variant,)*
        }

        impl Bindable for $type {
            const ALL: &'static [Self] = &[$(Self::$variant,)*];

            fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            fn help(self) -> &'static str {
                match self { $(Self::$variant => $help,)* }
            }
        }
    };
    ($doc:literal $type:ident in $groups:ident:
        $($variant:ident $name:literal $group:ident $help:literal,)*) => {
        actions! { $doc $type: $($variant $name $help,)* }

        impl $type {
            /// Where it stands in the list.
            #[must_use]
            pub const fn group(self) -> $groups {
                match self { $(Self::$variant => $groups::$group,)* }
            }
        }
    };
}

actions! { "What a key can mean on the main screen." Action in Group:
    Submit "submit" Talk "send; while something runs: deliver after the current tool",
    FollowUp "follow_up" Talk "new line; while something runs: deliver after the turn",
    Newline "newline" Talk "new line (also: \\ before enter)",
    Interrupt "interrupt" Talk "stop what runs; twice on an empty line: /tree",
    Clear "clear" Talk "clear the line; twice: quit",
    Quit "quit" Talk "quit, on an empty line",
    Suspend "suspend" Talk "put regrow to sleep (fg wakes it)",
    TakeQueue "take_queue" Talk "take queued messages back into the editor",
    PickModel "pick_model" Show "choose a model",
    CycleThinking "cycle_thinking" Show "next thinking level",
    ToggleTools "toggle_tools" Show "show tool output in full or in short",
    ToggleThinking "toggle_thinking" Show "show or hide thinking",
    OpenTree "open_tree" Show "the tree of the conversation",
    ShowKeys "show_keys" Show "this list",
    Find "find" Show "search in the transcript",
    CopyAnswer "copy_answer" Show "copy the last answer in view; again: the one before",
    CopyCode "copy_code" Show "copy the last code block in view; again: the one before",
    ToggleTimes "toggle_times" Show "show when things were said",
    PageUp "page_up" Scroll "a page back",
    PageDown "page_down" Scroll "a page on",
    ScrollUp "scroll_up" Scroll "a line back",
    ScrollDown "scroll_down" Scroll "a line on",
    ScrollTop "scroll_top" Scroll "to the beginning",
    ScrollEnd "scroll_end" Scroll "to the end",
    PreviousRequest "previous_request" Scroll "to the request before",
    NextRequest "next_request" Scroll "to the next request",
    Complete "complete" Edit "complete a command or a path",
    ExternalEditor "external_editor" Edit "write in $EDITOR",
    PasteClipboard "paste_clipboard" Edit "attach the image on the desktop's clipboard, or paste its text",
    SearchHistory "search_history" Edit "search what was sent before",
    Left "left" Edit "left",
    Right "right" Edit "right",
    Up "up" Edit "up; on the first line: what was sent before",
    Down "down" Edit "down; on the last line: what was sent after",
    WordLeft "word_left" Edit "a word left",
    WordRight "word_right" Edit "a word right",
    LineStart "line_start" Edit "start of the line",
    LineEnd "line_end" Edit "end of the line",
    DeleteBack "delete_back" Edit "delete left",
    DeleteForward "delete_forward" Edit "delete right",
    DeleteWordBack "delete_word_back" Edit "delete a word left",
    DeleteWordForward "delete_word_forward" Edit "delete a word right",
    KillToEnd "kill_to_end" Edit "cut to the end of the line",
    KillToStart "kill_to_start" Edit "cut to the start of the line",
    Yank "yank" Edit "paste what was cut",
    Undo "undo" Edit "undo",
    Redo "redo" Edit "redo",
}

actions! { "What a key can mean in the tree." TreeAction:
    Up "up" "a row up",
    Down "down" "a row down",
    PageUp "page_up" "a screenful up",
    PageDown "page_down" "a screenful down",
    First "first" "the first row",
    Last "last" "the last row",
    Fold "fold" "fold the branch, or go to its head",
    Unfold "unfold" "unfold the branch, or go into it",
    ToggleFold "toggle_fold" "fold or unfold",
    PreviousBranch "previous_branch" "to the branch before",
    NextBranch "next_branch" "to the next branch",
    ParentFork "parent_fork" "to the fork that this branch goes off from",
    Leaf "leaf" "to the active leaf",
    Root "root" "to the root",
    Search "search" "search all text",
    NextHit "next_hit" "the next thing found",
    PreviousHit "previous_hit" "the thing found before",
    Filter "filter" "the next filter: default, no tools, user only, labelled, all",
    Label "label" "label the entry",
    Times "times" "show or hide times",
    Copy "copy" "copy the entry",
    Export "export" "a new session from here",
    Compare "compare" "mark a branch, then compare it with another",
    Preview "preview" "show or hide the preview",
    PreviewUp "preview_up" "move the preview up",
    PreviewDown "preview_down" "move the preview down",
    Help "help" "the keys of the tree",
    Enter "enter" "go there",
    Back "back" "a step back: end the search, the mark, the tree",
}
