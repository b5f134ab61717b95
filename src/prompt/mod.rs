//! What every request says before the conversation begins: the system prompt, the project instructions
//! and the list of skills in it (SPEC X5). Conversations never hold any of it, so it is never compacted
//! away (I6). And the templates that stand for longer prompts.

pub mod context_files;
pub mod front_matter;
pub mod library;
pub mod skill;
pub mod source;
pub mod system;
pub mod template;
