//! Rows of small trees, written as text: guides, fold mark, id.

use super::super::notation::Session;
use super::*;
use crate::session::tree::{Parent, SessionTree};

/// Each line as `guides fold id`, `┃` before those on the active path.
fn sketch(session: &Session, rows: &Rows) -> Vec<String> {
    let tree = session.tree();
    let outline = Outline::new(&tree);
    let line = |line: &Line| {
        let (skipped, guides) = rows.guides(line, 3);
        let mut text = String::new();
        if skipped > 0 {
            text.push_str(&format!("+{skipped} "));
        }
        for guide in guides {
            text.push_str(match guide {
                Guide::Branch => "├",
                Guide::LastBranch => "└",
                Guide::Pass => "│",
                Guide::Blank => " ",
            });
        }
        if line.part != Part::Entry {
            let folded = rows.segment(line.segment).is_folded;
            text.push(match (rows.can_fold(line.segment), folded) {
                (true, true) => '▸',
                (true, false) => '▾',
                (false, _) => '─',
            });
        }
        if line.part == Part::Title {
            text.push('✎');
        }
        text.push_str(tree.node(line.node).id.as_str());
        if outline.on_path(line.node) {
            text.push('*');
        }
        text
    };
    rows.lines().iter().map(line).collect()
}

fn rows(session: &Session, filter: Filter) -> Rows {
    let tree = session.tree();
    Rows::new(&tree, &Outline::new(&tree), filter, &Folds::new())
}

#[track_caller]
fn check(text: &str, expected: &[&str]) {
    let session = Session::parse(text);
    assert_eq!(sketch(&session, &rows(&session, Filter::Default)), expected, "{text}");
}

const FORKED: &str = "u1 user 'one' / a1 assistant 'x' / u2 user 'two' / a2 assistant 'y'
     / u3 user 'three' < a1 / a3 assistant 'z' / u4 user 'four' < a3 / u5 user 'five' < a3";

#[test]
fn u5_a_run_without_a_fork_is_one_level() {
    check("u1 user 'a' / a1 assistant 'b' / u2 user 'c'", &["u1*", "a1*", "u2*"]);
}

#[test]
fn u5_branches_nest_active_first_and_abandoned_ones_are_folded() {
    check(FORKED, &["u1*", "a1*", "├▾u3*", "│a3*", "│├─u5*", "│└─u4", "└▸u2"]);
}

#[test]
fn u5_unfolding_shows_a_branch() {
    let session = Session::parse(FORKED);
    let mut rows = rows(&session, Filter::Default);
    rows.reveal(session.at("a2"));
    assert_eq!(
        sketch(&session, &rows),
        ["u1*", "a1*", "├▾u3*", "│a3*", "│├─u5*", "│└─u4", "└▾u2", " a2"]
    );
    let folds = rows.folds();
    assert_eq!(folds.into_iter().collect::<Vec<_>>(), [(session.at("u2"), false)]);
}

#[test]
fn u5_every_entry_finds_its_line() {
    let session = Session::parse(FORKED);
    let mut rows = rows(&session, Filter::Default);
    assert_eq!(rows.line_of(session.at("a2")), Some(6), "the folded branch stands for it");
    rows.unfold_all();
    for (position, line) in rows.lines().iter().enumerate() {
        assert_eq!(rows.line_of(line.node), Some(position));
    }
}

#[test]
fn u5_bookkeeping_makes_no_branches_and_calls_stand_for_their_answer() {
    check(
        "u1 user 'a' / a1 assistant call=read:x / r1 result 'text' of=a1-0 tool=read
         / m1 mark < u1 / l1 label 'here' of=u1",
        &["u1*", "r1"],
    );
    let session = Session::parse(
        "u1 user 'a' / a1 assistant call=read:x / r1 result 'text' of=a1-0 tool=read",
    );
    let rows = rows(&session, Filter::Default);
    assert_eq!(rows.line_of(session.at("a1")), Some(1));
    assert_eq!(only_calls(&session.tree(), session.at("a1")), Some("x"));
}

#[test]
fn u5_an_answer_with_text_keeps_its_row() {
    check(
        "u1 user 'a' / a1 assistant 'reading' call=read:x / r1 result 't' of=a1-0 tool=read",
        &["u1*", "a1*", "r1*"],
    );
}

#[test]
fn u5_filters() {
    let session = Session::parse(
        "u1 user 'a' / a1 assistant call=read:x / r1 result 't' of=a1-0 tool=read
         / l1 label 'here' of=r1 / u2 user 'b' / m1 mark < u1",
    );
    for (filter, expected) in [
        (Filter::Default, vec!["u1*", "r1", "u2"]),
        (Filter::NoTools, vec!["u1*", "u2"]),
        (Filter::UserOnly, vec!["u1*", "u2"]),
        (Filter::Labelled, vec!["r1"]),
        (Filter::All, vec!["u1*", "├─m1*", "└▸u2"]),
    ] {
        assert_eq!(sketch(&session, &rows(&session, filter)), expected, "{filter:?}");
    }
}

#[test]
fn b5_a_summary_names_the_branch_that_was_left() {
    let text = "u1 user 'one' / a1 assistant 'x' / u2 user 'two' / a2 assistant 'y'
         / s1 summary 'Macro attempt' from=a2 < a1 / u3 user 'three'";
    check(text, &["u1*", "a1*", "├─u3*", "└▸✎s1*"]);
    let session = Session::parse(text);
    let mut rows = rows(&session, Filter::Default);
    rows.unfold_all();
    assert_eq!(sketch(&session, &rows)[3..], ["└▾✎s1*", " u2", " a2"]);
    assert_eq!(rows.line_of(session.at("s1")), Some(4), "the summary is found at its branch");
}

#[test]
fn b5_a_summary_of_a_nested_branch_names_the_branch_at_the_fork() {
    let session = Session::parse(
        "u1 user 'one' / u2 user 'two' / u3 user 'deep' / u4 user 'deeper' < u2
         / s1 summary 'S' from=u4 < u1 / u5 user 'new'",
    );
    let mut rows = rows(&session, Filter::Default);
    rows.unfold_all();
    assert_eq!(sketch(&session, &rows), ["u1*", "├─u5*", "└▾✎s1*", " u2", " ├─u4", " └─u3"]);
}

#[test]
fn b5_files_of_other_programs_name_the_new_leaf_in_from_id() {
    check(
        "u1 user 'one' / u2 user 'two' / s1 summary 'S' from=u1 < u1",
        &["u1*", "├─s1*", "└▸✎s1*"],
    );
}

#[test]
fn u5_several_roots_are_branches() {
    check("u1 user 'one' / u2 user 'two' < - / a2 assistant 'x'", &["├▾u2*", "│a2*", "└─u1"]);
}

#[test]
fn f90_f91_deep_wide_and_damaged_trees_are_quick() {
    let chain = Session::chain(20_000);
    assert_eq!(rows(&chain, Filter::Default).lines().len(), 20_000);

    let mut forks = String::from("u0 user 'x'");
    for number in 1..5_000 {
        forks.push_str(&format!(
            " / u{number} user 'x' < u{} / x{number} user 'y' < u{}",
            number - 1,
            number - 1
        ));
    }
    let session = Session::parse(&forks);
    let mut rows = rows(&session, Filter::Default);
    rows.unfold_all();
    assert_eq!(rows.lines().len(), 9_999);
    let (skipped, guides) = rows.guides(&rows.lines()[rows.lines().len() / 2].clone(), 8);
    assert_eq!(guides.len(), 8);
    assert!(skipped > 2_000);
}

#[test]
fn f91_a_circle_in_the_file_is_shown_as_a_root() {
    let session = Session::parse("u1 user 'a' / u2 user 'b'");
    let parents = [session.at("u2"), session.at("u1")].map(Parent::Entry);
    let nodes = session.shared.read().unwrap().nodes().map(|(_, node)| node.clone()).collect();
    *session.shared.write().unwrap() = SessionTree::from_entries(nodes, parents.to_vec());
    assert_eq!(sketch(&session, &rows(&session, Filter::Default)), ["u2*", "u1"]);
}
