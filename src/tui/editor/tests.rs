//! U2 and F83, F86: editing by characters as seen, folding, undo, history, rows.

use super::*;

fn editor(text: &str) -> Editor {
    let mut editor = Editor::default();
    editor.insert(text);
    editor
}

#[track_caller]
fn check_rows(text: &str, columns: usize, rows: &[&str], caret: (usize, usize)) {
    let layout = editor(text).layout(columns);
    let drawn: Vec<String> = layout.rows.iter().map(|row| row.text()).collect();
    assert_eq!(drawn, rows, "{text:?}");
    assert_eq!(layout.caret, caret, "{text:?}");
}

#[test]
fn u2_moves_and_deletes_by_characters_as_seen() {
    for character in ["한", "e\u{301}", "👨\u{200d}👩\u{200d}👧", "🇰🇷", "각", "👍\u{1f3fd}"]
    {
        let mut editor = editor(&format!("a{character}"));
        editor.go(Direction::Back, Distance::Character);
        assert_eq!(editor.before_caret(), "a", "{character}");
        editor.go(Direction::Forward, Distance::Character);
        editor.delete(Direction::Back, Distance::Character);
        assert_eq!(editor.text(), "a", "{character}");
    }
}

#[test]
fn u2_words_and_lines() {
    let mut editor = editor("fix the 로그인 form\nnow");
    editor.go(Direction::Back, Distance::Line);
    assert_eq!(editor.after_caret(), "now");
    editor.go(Direction::Back, Distance::Word);
    editor.delete(Direction::Back, Distance::Word);
    assert_eq!(editor.text(), "fix the form\nnow");
    editor.delete(Direction::Forward, Distance::Line);
    assert_eq!(editor.text(), "fix the \nnow");
    editor.yank();
    assert_eq!(editor.text(), "fix the form\nnow");
    editor.go(Direction::Back, Distance::Text);
    editor.go(Direction::Forward, Distance::Word);
    assert_eq!(editor.before_caret(), "fix");
}

#[test]
fn u2_undo_takes_back_a_run_of_typing() {
    let mut editor = Editor::default();
    for letter in ["o", "n", "e", " ", "t", "w", "o"] {
        editor.insert(letter);
    }
    editor.undo();
    assert_eq!(editor.text(), "one ");
    editor.undo();
    editor.undo();
    assert_eq!(editor.text(), "");
    editor.redo();
    editor.redo();
    editor.redo();
    assert_eq!(editor.text(), "one two");
    editor.clear();
    editor.undo();
    assert_eq!(editor.text(), "one two", "a cleared text comes back");
}

#[test]
fn f86_big_pastes_fold_and_are_sent_whole() {
    let paste: String = (0..132).map(|number| format!("line {number}\r\n")).collect();
    let mut editor = editor("see ");
    editor.paste(&paste);
    editor.insert("!");
    let layout = editor.layout(80);
    assert_eq!(layout.rows[0].text(), "see [pasted 132 lines]!");
    assert_eq!(editor.text(), format!("see {}!", paste.replace("\r\n", "\n")));
    editor.go(Direction::Back, Distance::Character);
    editor.delete(Direction::Back, Distance::Character);
    assert_eq!(editor.text(), "see !", "a fold is one character");
    editor.undo();
    assert!(editor.text().contains("line 131"));
}

#[test]
fn f86_escape_sequences_and_marks_in_a_paste_are_data_without_power() {
    let mut editor = Editor::default();
    editor.paste("a\u{1b}[201~b\u{7}\u{100000}c\rd\te");
    assert_eq!(editor.text(), "a[201~bc\nd\te");
}

#[test]
fn f86_a_long_line_folds_too() {
    let mut editor = Editor::default();
    editor.paste(&"x".repeat(5000));
    assert_eq!(editor.layout(80).rows[0].text(), "[pasted 5000 characters]");
}

#[test]
fn u2_history_keeps_the_draft() {
    let mut editor = Editor::new(vec!["old".into()]);
    editor.insert("first");
    assert_eq!(editor.take(), "first");
    editor.insert("draft");
    let mut steps = Vec::new();
    for direction in [
        Direction::Back,
        Direction::Back,
        Direction::Back,
        Direction::Forward,
        Direction::Forward,
        Direction::Forward,
    ] {
        editor.go_row(direction, 80);
        steps.push(editor.text());
    }
    assert_eq!(steps, ["first", "old", "old", "first", "draft", "draft"]);
    assert_eq!(editor.search_history("FIR").collect::<Vec<_>>(), ["first"]);
}

#[test]
fn u2_up_and_down_keep_their_column() {
    let mut editor = editor("a long line\nx\nanother line");
    editor.go_row(Direction::Back, 80);
    assert_eq!(editor.before_caret(), "a long line\nx");
    editor.go_row(Direction::Back, 80);
    assert_eq!(editor.before_caret(), "a long line");
    editor.go(Direction::Back, Distance::Line);
    editor.go_row(Direction::Forward, 80);
    assert_eq!(editor.before_caret(), "a long line\n");
}

#[test]
fn f83_rows_and_caret_count_columns() {
    check_rows("", 10, &[""], (0, 0));
    check_rows("한국어", 10, &["한국어"], (0, 6));
    check_rows("한국어 입력", 8, &["한국어 ", "입력"], (1, 4));
    check_rows("가나다라마", 5, &["가나", "다라", "마"], (2, 2));
    check_rows("one two three", 8, &["one two ", "three"], (1, 5));
    check_rows("abcd", 4, &["abcd", ""], (1, 0));
    check_rows("a\n", 4, &["a", ""], (1, 0));
    check_rows("a👨\u{200d}👩b", 10, &["a👨👩b"], (0, 6));
    check_rows("e\u{301}", 10, &["e\u{301}"], (0, 1));
}

#[test]
fn u2_up_reaches_the_wrapped_row_and_not_history() {
    let mut editor = Editor::new(vec!["sent".into()]);
    editor.insert("one two three four");
    editor.go_row(Direction::Back, 12);
    assert_eq!(editor.layout(12).caret, (0, 7), "the column is kept or as near as the row goes");
    assert_eq!(editor.text(), "one two three four");
}

#[test]
fn u2_returned_messages_stand_before_what_is_written() {
    let mut editor = editor("draft");
    editor.put_before("queued", Vec::new());
    assert_eq!(editor.text(), "queued\n\ndraft");
}

fn image(data: &str) -> Image {
    Image { data: data.into(), mime_type: "image/png".into() }
}

fn attachment(name: &str, data: &str) -> Attachment {
    Attachment { name: name.into(), image: image(data) }
}

fn attach(editor: &mut Editor, name: &str, data: &str) {
    let place = editor.hold().unwrap();
    editor.fill(place, Arrived::Images(vec![attachment(name, data)]));
}

#[test]
fn u2_what_is_typed_while_an_image_is_read_stands_behind_it() {
    let mut editor = editor("see ");
    let first = editor.hold().unwrap();
    editor.insert("and ");
    let second = editor.hold().unwrap();
    editor.insert("!");
    assert!(editor.awaits());
    assert_eq!(editor.layout(80).rows[0].text(), "see [reading…]and [reading…]!");
    editor.fill(second, Arrived::Text("/tmp/no image.png".into()));
    let images = vec![attachment("a.png", "one"), attachment("b.png", "two")];
    editor.fill(first, Arrived::Images(images));
    assert!(!editor.awaits());
    assert_eq!(editor.text(), "see [image a.png] [image b.png] and /tmp/no image.png!");
    assert_eq!(editor.images(), [image("one"), image("two")]);
    editor.insert("?");
    assert!(editor.text().ends_with("!?"), "the caret has kept its place");
    // A place that is gone is not filled.
    let gone = editor.hold().unwrap();
    editor.delete(Direction::Back, Distance::Character);
    editor.fill(gone, Arrived::Text("late".into()));
    assert!(!editor.text().contains("late"));
}

#[test]
fn u2_an_image_is_one_character_and_goes_where_its_label_goes() {
    let mut editor = editor("see ");
    attach(&mut editor, "a.png", "one");
    attach(&mut editor, "a.png", "two");
    editor.insert("!");
    assert_eq!(editor.text(), "see [image a.png] [image a.png 2] !");
    assert_eq!(editor.layout(80).rows[0].text(), "see [image a.png] [image a.png 2] !");
    assert_eq!(editor.images(), [image("one"), image("two")]);
    editor.go(Direction::Back, Distance::Character);
    editor.delete(Direction::Back, Distance::Character);
    editor.delete(Direction::Back, Distance::Character);
    assert_eq!(editor.images(), [image("one")], "deleted like a character");
    editor.undo();
    assert_eq!(editor.images(), [image("one"), image("two")]);
    // Another editor has changed the text.
    editor.set_text("first [image a.png 2], then [image a.png], not [image a.png]");
    assert_eq!(editor.images(), [image("two"), image("one")]);
    editor.set_text("none of them");
    assert!(editor.images().is_empty());
}

#[test]
fn u3_queued_messages_come_back_with_their_images() {
    let mut editor = Editor::default();
    attach(&mut editor, "a.png", "one");
    let (text, images) = (editor.text(), editor.images());
    editor.take();
    assert!(editor.is_empty() && editor.images().is_empty());
    editor.insert("draft");
    editor.put_before(&text, images);
    assert_eq!(editor.text(), "[image a.png] \n\ndraft");
    assert_eq!(editor.images(), [image("one")]);
    // Images of a session that somebody else has filled.
    editor.clear();
    editor.put_before("look", vec![image("x"), image("y")]);
    assert_eq!(editor.text(), "[image from the queue] [image from the queue 2] look");
    assert_eq!(editor.images(), [image("x"), image("y")]);
}

#[test]
fn u2_a_completion_replaces_what_was_begun() {
    let mut editor = editor("look at @sr");
    editor.replace_before(3, "@src/main.rs ");
    assert_eq!(editor.text(), "look at @src/main.rs ");
}

#[test]
fn u2_combining_characters_never_leave_the_caret_inside() {
    let mut editor = editor("e");
    editor.go(Direction::Back, Distance::Text);
    editor.insert("a");
    editor.go(Direction::Forward, Distance::Text);
    editor.insert("\u{301}");
    editor.delete(Direction::Back, Distance::Character);
    assert_eq!(editor.text(), "a");
}
