//! What a key can mean on the main screen. One table: it feeds the key map, its file and the list
//! of keys.

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

macro_rules! actions {
    ($($variant:ident $name:literal $group:ident $help:literal,)*) => {
        /// See the module.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Action {
            $(#[doc = $help] $variant,)*
        }

        impl Action {
            /// All actions in the order of the list.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The name in key map files.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// What it does, in a few words.
            #[must_use]
            pub const fn help(self) -> &'static str {
                match self { $(Self::$variant => $help,)* }
            }

            /// Where it stands in the list.
            #[must_use]
            pub const fn group(self) -> Group {
                match self { $(Self::$variant => Group::$group,)* }
            }
        }
    };
}

actions! {
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

impl Action {
    /// The action of that name in key map files.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|action| action.name() == name)
    }
}
