//! The `skill` tool in a real session: read without a question, with the files beside it.

use std::sync::Arc;

use regrow::message::StopReason;
use regrow::prompt::skill::{Skill, SkillShelf};
use regrow::provider::scripted::Script;
use regrow::settings::PermissionMode;
use regrow::tool::builtin::builtin;
use regrow::tool::skill::SkillTool;

use super::harness::{Setup, Talk};

/// A skill in a folder outside of every workspace, and a shelf with it.
fn shelf() -> (tempfile::TempDir, SkillShelf) {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().canonicalize().unwrap().join("pdf [forms] (1)");
    std::fs::create_dir_all(folder.join("references")).unwrap();
    let text = "---\nname: pdf\ndescription: Fills forms.\n---\nFirst read references/how.md.\n";
    std::fs::write(folder.join("SKILL.md"), text).unwrap();
    std::fs::write(folder.join("references/how.md"), "양식을 채운다\n").unwrap();
    let skill = Skill { name: "pdf".into(), description: "Fills forms.".into(), folder };
    (dir, SkillShelf::new(vec![skill]))
}

fn setup(shelf: &SkillShelf) -> Setup {
    let tools = builtin().and(Arc::new(SkillTool::new(shelf.clone())));
    let mut setup = Setup { tools, ..Setup::default() };
    setup.settings.permissions.mode = PermissionMode::Ask;
    setup
}

fn call(name: &str, arguments: &serde_json::Value) -> Script {
    Script::new().tool_call("c1", name, &arguments.to_string()).finish(StopReason::ToolUse)
}

/// A3: what a skill sends the model to is read without a question; what lies beside it is not.
#[tokio::test]
async fn a3_a_skill_and_its_files_are_read_without_a_question() {
    let (dir, shelf) = shelf();
    let folder = shelf.skills()[0].folder.clone();
    std::fs::write(dir.path().join("secret"), "no").unwrap();
    let mut talk = Talk::with(setup(&shelf));
    let how = serde_json::json!({ "path": folder.join("references/how.md") });
    let shell = serde_json::json!({ "path": folder, "pattern": "양식" });
    talk.say(
        "fill it",
        [
            call("skill", &serde_json::json!({ "name": "pdf" })),
            call("read", &how),
            call("grep", &shell),
            Script::says("Done."),
        ],
    )
    .await;
    let story = talk.story();
    let said = format!("Folder of this skill: {}", folder.display());
    assert!(story[2].contains(&said) && story[2].contains("First read references"), "{story:?}");
    assert!(story[4].contains("양식을 채운다"), "{story:?}");
    assert!(story[6].contains("how.md"), "{story:?}");
    assert!(!format!("{:?}", talk.seen).contains("PermissionAsked"));
    let secret = serde_json::json!({ "path": dir.path().join("secret") });
    talk.model.push(call("read", &secret));
    talk.prompt("read that", regrow::agent_session::command::Delivery::FollowUp);
    talk.until("a question", |event| {
        matches!(event, regrow::agent_session::event::SessionEvent::PermissionAsked(_))
    })
    .await;
}

/// A rule that forbids wins over the skill, and a name that is none says which there are.
#[tokio::test]
async fn a3_rules_forbid_skills_too_and_unknown_names_are_told() {
    let (_dir, shelf) = shelf();
    let mut forbidding = setup(&shelf);
    forbidding.settings.permissions.deny = vec!["skill(/**)".into()];
    let mut talk = Talk::with(forbidding);
    let wanted = |name: &str| call("skill", &serde_json::json!({ "name": name }));
    talk.say("go", [wanted("pdf"), wanted("pfd"), Script::says("No.")]).await;
    let story = talk.story();
    assert!(story[2].contains("forbidden by the rule `skill(/**)`"), "{story:?}");
    assert!(story[4].contains("did you mean `pdf`?"), "{story:?}");
}

/// Without skills there is no such tool; the list can change only as a whole, and the requests of a
/// session are the same until it does.
#[tokio::test]
async fn the_tool_is_on_offer_when_there_are_skills() {
    let (_dir, full) = shelf();
    let shelf = SkillShelf::default();
    let mut talk = Talk::with(setup(&shelf));
    talk.say("one", [Script::says("1")]).await;
    shelf.replace(full.skills().to_vec());
    talk.say("two", [Script::says("2")]).await;
    talk.say("three", [Script::says("3")]).await;
    let requests = talk.requests();
    let offered = |at: usize| -> Vec<String> {
        requests[at].tools.iter().map(|tool| tool.name.clone()).collect()
    };
    assert!(!offered(0).contains(&"skill".to_owned()));
    assert!(offered(1).contains(&"skill".to_owned()));
    assert_eq!(requests[1].tools, requests[2].tools);
    assert_eq!(requests[1].system, requests[2].system);
}
