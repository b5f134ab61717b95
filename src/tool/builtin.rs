//! The tools that come with regrow, in the order in which models see them.

use std::sync::Arc;

use crate::settings::PermissionMode;

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

impl ToolRegistry {
    /// The tools with these names (`None`: all of them) for which a mode has a use: where only reading is
    /// allowed, those that only read.
    #[must_use]
    pub fn only_in(&self, names: Option<&[String]>, mode: PermissionMode) -> Self {
        if mode != PermissionMode::Read {
            return self.only(names);
        }
        let reads = self.tools.iter().filter(|(_, tool)| tool.parallel());
        let wanted = |name: &String| names.is_none_or(|names| names.contains(name));
        let reading: Vec<String> =
            reads.map(|(spec, _)| spec.name.clone()).filter(wanted).collect();
        self.only(Some(&reading))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a3_where_only_reading_is_allowed_only_reading_is_on_offer() {
        let names = |registry: &ToolRegistry| -> Vec<String> {
            registry.specs().into_iter().map(|spec| spec.name).collect()
        };
        let all = builtin();
        let reading = all.only_in(None, PermissionMode::Read);
        assert_eq!(names(&reading), ["read", "grep", "find", "ls"]);
        let chosen = ["ls".to_owned(), "bash".to_owned()];
        assert_eq!(names(&all.only_in(Some(&chosen), PermissionMode::Read)), ["ls"]);
        assert_eq!(names(&reading.only_in(Some(&chosen), PermissionMode::Ask)), ["bash", "ls"]);
    }
}
