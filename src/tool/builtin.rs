//! The tools that come with regrow, in the order in which models see them.

use std::sync::Arc;

use super::ToolRegistry;
use super::stamps::FileStamps;
use super::{bash, edit, find, grep, ls, read, write};

/// The seven tools of SPEC A2, for one session.
#[must_use]
pub fn builtin() -> ToolRegistry {
    builtin_with(&FileStamps::new())
}

/// As [`builtin`], with a record of seen files that the caller keeps: it must live as long as the
/// session does.
#[must_use]
pub fn builtin_with(stamps: &FileStamps) -> ToolRegistry {
    ToolRegistry::new(vec![
        Arc::new(read::ReadTool { stamps: stamps.clone() }),
        Arc::new(write::WriteTool { stamps: stamps.clone() }),
        Arc::new(edit::EditTool { stamps: stamps.clone() }),
        Arc::new(bash::BashTool),
        Arc::new(grep::GrepTool),
        Arc::new(find::FindTool),
        Arc::new(ls::LsTool),
    ])
}
