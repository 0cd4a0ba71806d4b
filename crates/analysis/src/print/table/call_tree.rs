//! A tree of routines: a line a node, each below the one above it. What has one
//! way on alone shares its line.

use super::{Text, number_of};
use crate::query::Weighting;
use crate::query::chain_view::TreeOrder;
use crate::report::{CallTree, EventReport, OtherNodes, ReportChains, TreeNode};
use render::{Cell, Head, Table};

#[derive(Debug)]
struct TreeLine {
    depth: usize,
    count: u64,
    period: u64,
    share: f64,
    /// None: of what is told together.
    own: Option<f64>,
    text: String,
}

pub(super) fn render(tree: &CallTree, event: &EventReport, chains: &ReportChains, out: &mut Text) {
    let by_period = event.weighting == Weighting::Period;
    let is_down = tree.order == TreeOrder::Callees;
    let routine = if is_down { "routine, and what it called" } else { "routine, and its callers" };
    let mut heads = vec![Head::number("count"), Head::number("share"), Head::left(routine)];
    if is_down {
        heads.insert(2, Head::number("self"));
    }
    if by_period {
        heads.insert(1, Head::number("period"));
    }
    let mut table = Table::new("", heads);
    table.rows.extend(lines(tree, chains).into_iter().map(|line| {
        let mut cells = vec![Cell::Count(line.count)];
        cells.extend(by_period.then_some(Cell::Count(line.period)));
        cells.push(Cell::Share(line.share));
        cells.extend(is_down.then(|| line.own.map_or(Cell::words(""), Cell::Share)));
        cells.push(Cell::Nested(line.depth, line.text.into()));
        cells
    }));
    out.table(&table);
}

fn lines(tree: &CallTree, chains: &ReportChains) -> Vec<TreeLine> {
    let mut below = vec![0_usize; tree.nodes.len()];
    for parent in tree.nodes.iter().filter_map(|node| node.parent) {
        if let Some(count) = below.get_mut(parent) {
            *count += 1;
        }
    }
    let goes_one_way = |node: &TreeNode, at: usize| {
        below.get(at) == Some(&1) && node.others.is_none() && node.self_count == 0
    };
    let arrow = if tree.order == TreeOrder::Callees { " > " } else { " < " };
    let mut lines: Vec<TreeLine> = Vec::new();
    let mut depths: Vec<usize> = Vec::with_capacity(tree.nodes.len());
    // Nodes that those to come may be below, outermost first.
    let mut open: Vec<usize> = Vec::new();
    let close = |open: &mut Vec<usize>,
                 until: Option<usize>,
                 depths: &[usize],
                 lines: &mut Vec<TreeLine>| {
        while let Some(last) = open.last().copied().filter(|last| Some(*last) != until) {
            open.pop();
            if let Some(others) = tree.nodes.get(last).and_then(|node| node.others) {
                lines.push(others_line(others, depths.get(last).map_or(0, |depth| depth + 1)));
            }
        }
    };
    for (at, node) in tree.nodes.iter().enumerate() {
        close(&mut open, node.parent, &depths, &mut lines);
        let name = chains.routine(node.frame);
        let above = node.parent.and_then(|parent| Some((tree.nodes.get(parent)?, parent)));
        let depth_above = |parent: usize| depths.get(parent).copied().unwrap_or(0);
        match (above, lines.last_mut()) {
            (Some((above, parent)), Some(line)) if goes_one_way(above, parent) => {
                line.text.push_str(arrow);
                line.text.push_str(name);
                line.own = Some(node.self_share);
                depths.push(depth_above(parent));
            }
            (above, _) => {
                let depth = above.map_or(0, |(_, parent)| depth_above(parent) + 1);
                depths.push(depth);
                lines.push(TreeLine {
                    depth,
                    count: node.count,
                    period: node.period,
                    share: node.share,
                    own: Some(node.self_share),
                    text: name.to_owned(),
                });
            }
        }
        open.push(at);
    }
    close(&mut open, None, &depths, &mut lines);
    lines.extend(tree.others.map(|others| others_line(others, 0)));
    lines
}

fn others_line(others: OtherNodes, depth: usize) -> TreeLine {
    let OtherNodes { nodes, count, period, share } = others;
    TreeLine { depth, count, period, share, own: None, text: number_of(nodes, "other") }
}
