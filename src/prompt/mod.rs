//! What every request says before the conversation begins: the system prompt and the project
//! instructions in it (SPEC X5). Conversations never hold any of it, so it is never compacted away (I6).

pub mod context_files;
pub mod source;
pub mod system;
