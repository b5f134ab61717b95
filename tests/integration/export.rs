//! The HTML export in a real browser (U4, F57): it runs without an error, switches branches, and
//! hostile content stays text. Skipped, loudly, where there is no `chromium` (Debian's package).

use std::path::{Path, PathBuf};
use std::process::Command;

use regrow::compaction::tokens::Estimator;
use regrow::export::{Format, Secrets, Source, export};
use regrow::session::store::{Access, SessionStore};
use serde_json::{Value, json};

use crate::support::pty::program;

/// Writes the export of a session file.
fn page_of(session: &Path, secrets: Secrets) -> (tempfile::TempDir, PathBuf) {
    let opened = SessionStore::open(session, Access::ReadOnly, Estimator::default()).unwrap();
    let reader = opened.store.reader();
    let leaf = reader.tree().leaf();
    let header = opened.store.header();
    let source = Source { reader, header, leaf, file: Some(session) };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("page.html");
    let mut out = std::fs::File::create(&path).unwrap();
    let problems = export(Format::Html, &source, secrets, &mut out).unwrap();
    assert_eq!(problems, Vec::<String>::new());
    (folder, path)
}

fn tour() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/sessions/tour.jsonl")
}

/// The page as the browser has it after its scripts ran, and what was said on the console.
fn browsed(page: &Path, fragment: &str) -> Option<(String, String)> {
    let Some(chromium) = program("chromium") else {
        eprintln!("SKIPPED: there is no chromium here; no browser has seen the export");
        return None;
    };
    let profile = tempfile::tempdir().unwrap();
    let output = Command::new(chromium)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
        .args(["--enable-logging=stderr", "--virtual-time-budget=2000", "--dump-dom"])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .arg(format!("file://{}{fragment}", page.display()))
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let console: Vec<String> = text(&output.stderr)
        .lines()
        .filter(|line| line.contains("CONSOLE"))
        .map(ToOwned::to_owned)
        .collect();
    Some((text(&output.stdout), console.join("\n")))
}

/// What stands in `main` of a page as the browser has it.
fn shown(dom: &str) -> &str {
    let start = dom.find("<main>").expect("a main part");
    &dom[start..dom.find("</main>").unwrap()]
}

#[test]
fn u4_the_tour_switches_branches_in_a_browser_without_an_error() {
    let (_folder, page) = page_of(&tour(), Secrets::Keep);
    let text = std::fs::read_to_string(&page).unwrap();
    assert!(text.contains("Make the login form say which field failed"));
    let Some((plain, console)) = browsed(&page, "") else { return };
    assert_eq!(console, "");
    // An entry that is on no active path: the one on whose branch nothing is shown yet.
    let entries: Value = {
        let start = text.find("id=\"entries\">").unwrap() + "id=\"entries\">".len();
        serde_json::from_str(&text[start..start + text[start..].find("</script>").unwrap()])
            .unwrap()
    };
    let elsewhere: Vec<&Value> = entries
        .as_array()
        .unwrap()
        .iter()
        .filter(|entry| !entry["html"].as_str().unwrap().is_empty())
        .collect();
    assert!(elsewhere.len() >= 3, "the tour has branches");
    for entry in elsewhere.iter().take(3) {
        let id = entry["id"].as_str().unwrap();
        let mark = format!("data-id=\"{id}\"");
        assert!(!shown(&plain).contains(&mark));
        let (switched, console) = browsed(&page, &format!("#{id}")).unwrap();
        assert_eq!(console, "");
        assert!(shown(&switched).contains(&mark), "{id} is shown once its branch is chosen");
        assert_ne!(shown(&switched), shown(&plain));
    }
}

/// A session whose every text tries to get out.
fn hostile(folder: &Path) -> PathBuf {
    let nasty = "</script><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">";
    let markdown = format!(
        "{nasty}\n\n[a](javascript:document.title='owned') <a href='javascript:1'>b</a> \
         ![i](x\" onerror=\"document.title='owned')\n\n```\"><script>document.title='owned'</script>\n{nasty}\n```\n<!--"
    );
    let at = "2026-01-14T15:00:37.013Z";
    let message = |number: usize, parent: Option<usize>, message: Value| {
        json!({"type": "message", "id": format!("0000000{number}"),
            "parentId": parent.map(|parent| format!("0000000{parent}")), "timestamp": at, "message": message})
    };
    let answer = |content: Value| {
        json!({"role": "assistant", "content": content, "api": "x", "provider": nasty, "model": nasty,
            "stopReason": "stop", "timestamp": 1, "errorMessage": nasty})
    };
    let broken = json!({"type": "image", "mimeType": "image/png\"><script>", "data": "\"><script>document.title='owned'</script>"});
    let svg = json!({"type": "image", "mimeType": "image/svg+xml", "data": "PHN2Zz48c2NyaXB0PmFsZXJ0KDEpPC9zY3JpcHQ+PC9zdmc+"});
    let lines = [
        json!({"type": "session", "version": 3, "id": "x", "timestamp": at, "cwd": nasty}),
        message(
            1,
            None,
            json!({"role": "user", "content": [{"type": "text", "text": nasty}, broken, svg], "timestamp": 1}),
        ),
        message(
            2,
            Some(1),
            answer(json!([
            {"type": "thinking", "thinking": markdown}, {"type": "text", "text": markdown},
            {"type": "toolCall", "id": "c", "name": nasty, "arguments": {"path": nasty}}])),
        ),
        message(
            3,
            Some(2),
            json!({"role": "toolResult", "toolCallId": "c", "toolName": nasty, "isError": true,
            "content": [{"type": "text", "text": nasty}, svg], "details": {"summary": nasty, "diff": format!("+{nasty}\n-{nasty}")}, "timestamp": 1}),
        ),
        message(4, Some(1), json!({"role": "user", "content": markdown, "timestamp": 1})),
        json!({"type": "label", "id": "00000005", "parentId": "00000004", "timestamp": at, "targetId": "00000001", "label": nasty}),
        json!({"type": "session_info", "id": "00000006", "parentId": "00000005", "timestamp": at, "name": nasty}),
        json!({"type": "message", "id": format!("a\"onclick=\"{nasty}"), "parentId": "00000006", "timestamp": at,
            "message": {"role": "bashExecution", "command": nasty, "output": nasty, "exitCode": 0, "timestamp": 1}}),
    ];
    let path = folder.join("hostile.jsonl");
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    std::fs::write(&path, text).unwrap();
    path
}

#[test]
fn f57_hostile_content_is_text_in_a_browser() {
    let folder = tempfile::tempdir().unwrap();
    let session = hostile(folder.path());
    let (_folder, page) = page_of(&session, Secrets::Redact);
    let text = std::fs::read_to_string(&page).unwrap();
    assert_eq!(text.matches("<script").count(), 2, "the block of entries and our own");
    assert_eq!(text.matches("</script").count(), 2);
    for sign in ["<img", "<a href='", "href=\"javascript:", "data:image/svg", "<b "] {
        assert!(!text.contains(sign), "{sign}");
    }
    for fragment in ["", "#00000003", "#00000004"] {
        let Some((dom, console)) = browsed(&page, fragment) else { return };
        assert_eq!(console, "", "{fragment}");
        assert!(!dom.contains("<title>owned"), "{fragment}: a script of the content ran");
        assert_eq!(dom.matches("<script").count(), 2, "{fragment}");
        assert_eq!(dom.matches("<img").count(), 0, "{fragment}");
        assert!(dom.contains("&lt;script&gt;document.title"), "it is there to be read");
    }
}
