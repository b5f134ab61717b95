//! The sidebar: what was asked, branch by branch. A branch that was left is indented below the place
//! where it began; the path to the leaf, else the newest branch, goes straight on.

use std::collections::HashSet;
use std::io::{self, Write};

use super::escape;
use crate::export::{Secrets, Source, shown};
use crate::session::tree::{NodeIndex, NodeKind, SessionTree};
use crate::tool::sanitize::clean;

/// Deeper branches are indented no more.
const DEEPEST: usize = 8;

/// Writes the list of links.
pub(super) fn write(
    source: &Source<'_>,
    secrets: Secrets,
    path: &[NodeIndex],
    out: &mut dyn Write,
) -> io::Result<()> {
    let tree = source.reader.tree();
    let on_path: HashSet<NodeIndex> = path.iter().copied().collect();
    let newest = newest_below(&tree);
    out.write_all(b"<div class=\"outline\">\n")?;
    // What is still to be listed, next last: where, how deep, and whether a branch begins there.
    let mut open = Vec::new();
    let list = |open: &mut Vec<_>, parent, depth, begins| {
        push(&tree, parent, (depth, begins), &on_path, &newest, open);
    };
    list(&mut open, None, 0, false);
    while let Some((index, depth, begins)) = open.pop() {
        let node = tree.node(index);
        let label = tree.label(index);
        let asks = matches!(node.kind, NodeKind::User);
        let shows = asks || label.is_some() || (begins && node.kind.bears_message());
        if shows {
            let text = |text: &str| escape(&shown(&clean(text), secrets));
            let label = label.map_or_else(String::new, |label| format!(" <b>{}</b>", text(label)));
            let mark = if begins { "↳ " } else { "" };
            writeln!(
                out,
                "<a class=\"d{}{}\" href=\"#{}\">{mark}{}{label}</a>",
                depth.min(DEEPEST),
                if on_path.contains(&index) { " on" } else { "" },
                escape(node.id.as_str()),
                text(&node.preview),
            )?;
        }
        // A branch begins with the first entry of it that says something.
        list(&mut open, Some(index), depth, begins && !shows);
    }
    out.write_all(b"</div>\n")
}

/// Puts the children of an entry on the list: branches first, what goes straight on last.
fn push(
    tree: &SessionTree,
    parent: Option<NodeIndex>,
    (depth, begins): (usize, bool),
    on_path: &HashSet<NodeIndex>,
    newest: &[usize],
    open: &mut Vec<(NodeIndex, usize, bool)>,
) {
    let mut children: Vec<NodeIndex> = tree.children(parent).collect();
    children.sort_by_key(|child| (on_path.contains(child), newest[child.get()]));
    let Some(straight) = children.pop() else { return };
    open.push((straight, depth, begins));
    open.extend(children.into_iter().rev().map(|child| (child, depth + 1, true)));
}

/// For each entry the newest one below it, itself included.
fn newest_below(tree: &SessionTree) -> Vec<usize> {
    let mut newest: Vec<usize> = (0..tree.nodes().len()).collect();
    for (index, _) in tree.nodes().rev() {
        if let Some(parent) = tree.parent(index) {
            let here = newest[index.get()];
            let above = &mut newest[parent.get()];
            *above = (*above).max(here);
        }
    }
    newest
}
