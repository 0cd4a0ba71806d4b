//! Who called what was sampled: call chains as an icicle, the outermost
//! routine at the top.

use crate::content::PageContent;
use crate::figure::PagePicture;
use analysis::report::{CallTree, EventReport, ReportChains};
use render::{Cell, Head, HtmlText, Table};

/// Nodes that are drawn of an event: those with the largest shares.
const MOST_NODES: usize = 800;
/// Pixels.
const WIDTH: f64 = 1120.0;
const ROW: f64 = 20.0;
/// Pixels that a letter takes, at most.
const LETTER: f64 = 6.6;
/// Colours that tell objects apart.
const COLOURS: [&str; 7] = ["f o0", "f o1", "f o2", "f o3", "f o4", "f o5", "f o6"];

pub(crate) fn write(content: &PageContent, out: &mut HtmlText) {
    let Ok(report) = &content.callers else { return };
    for (number, event) in report.events.iter().enumerate() {
        let Some(tree) = event.tree.as_ref().filter(|tree| !tree.nodes.is_empty()) else {
            continue;
        };
        icicle(number, event, &Icicle::of(tree, &report.chains), out);
    }
}

struct DrawnNode<'r> {
    routine: &'r str,
    object: &'r str,
    depth: usize,
    /// Left end and width, of 1.
    left: f64,
    width: f64,
    count: u64,
    share: f64,
    own: u64,
    colour: usize,
}

struct Icicle<'r> {
    nodes: Vec<DrawnNode<'r>>,
    /// Objects by colour.
    objects: Vec<&'r str>,
    depth: usize,
    /// Nodes with a lesser share are left out.
    least: f64,
    left_out: u64,
}

impl<'r> Icicle<'r> {
    fn of(tree: &'r CallTree, chains: &'r ReportChains) -> Icicle<'r> {
        let mut shares: Vec<f64> = tree.nodes.iter().map(|node| node.share).collect();
        shares.sort_by(|a, b| b.total_cmp(a));
        let least = shares.get(MOST_NODES).copied().unwrap_or(tree.least_share);
        let shown = |share: f64| tree.nodes.len() <= MOST_NODES || share > least;
        // Where the next node below each one begins; the last is of those at the top.
        let mut next = vec![0.0; tree.nodes.len() + 1];
        let mut depths = vec![0; tree.nodes.len()];
        let mut icicle =
            Icicle { nodes: Vec::new(), objects: Vec::new(), depth: 0, least, left_out: 0 };
        for (index, node) in tree.nodes.iter().enumerate() {
            let above = node.parent.unwrap_or(tree.nodes.len());
            let left = next.get(above).copied().unwrap_or(0.0);
            if let Some(next) = next.get_mut(above) {
                *next += node.share;
            }
            if let Some(own) = next.get_mut(index) {
                *own = left;
            }
            let depth =
                node.parent.and_then(|it| depths.get(it)).map_or(0, |depth: &usize| depth + 1);
            if let Some(own) = depths.get_mut(index) {
                *own = depth;
            }
            icicle.left_out += node.others.map_or(0, |others| others.nodes);
            if !shown(node.share) {
                icicle.left_out += 1;
                continue;
            }
            let object = chains.frames.get(node.frame).and_then(|it| it.object.as_deref());
            let object = object.unwrap_or("");
            let colour = icicle.colour(object);
            icicle.depth = icicle.depth.max(depth + 1);
            icicle.nodes.push(DrawnNode {
                routine: chains.routine(node.frame),
                object,
                depth,
                left,
                width: node.share,
                count: node.count,
                share: node.share,
                own: node.self_count,
                colour,
            });
        }
        icicle.left_out += tree.others.map_or(0, |others| others.nodes);
        icicle
    }

    fn colour(&mut self, object: &'r str) -> usize {
        let known = self.objects.iter().position(|it| *it == object);
        let colour = known.unwrap_or_else(|| {
            self.objects.push(object);
            self.objects.len() - 1
        });
        colour.min(COLOURS.len() - 1)
    }

    fn table(&self, event: &EventReport) -> Table<'r> {
        let caption = format!("Call chains of {}, each routine below its caller", event.name);
        let mut table = Table::of(
            caption,
            &self.nodes,
            &[
                (Head::left("routine"), &|it| Cell::Nested(it.depth, it.routine.into())),
                (Head::number("count"), &|it| Cell::Count(it.count)),
                (Head::number("share"), &|it| Cell::Share(it.share)),
                (Head::number("in itself"), &|it| Cell::Count(it.own)),
                (Head::left("object"), &|it| Cell::name(it.object)),
            ],
        );
        table.foot = (self.left_out > 0).then(|| {
            format!(
                "{} more, each with {:.2}% at most: `ebs report --tree` has them",
                self.left_out,
                self.least * 100.0
            )
        });
        table
    }
}

fn icicle(number: usize, event: &EventReport, icicle: &Icicle<'_>, out: &mut HtmlText) {
    let table = icicle.table(event);
    let deepest = u32::try_from(icicle.depth).unwrap_or(u32::MAX);
    let mut told = format!(
        "A box a routine, as wide as its share of {} samples; below it what it called. {} boxes, {} \
         deep.",
        event.totals.counted,
        table.rows.len(),
        icicle.depth
    );
    if let Some(top) = icicle.nodes.iter().max_by_key(|node| node.own) {
        told.push_str(&format!(
            " Most samples were taken in {}: {} on its widest path.",
            top.routine, top.own
        ));
    }
    let figure = PagePicture {
        id: format!("icicle-{number}"),
        kind: "icicle",
        title: format!("Callers: {}", event.name),
        told,
        width: WIDTH,
        height: f64::from(deepest) * ROW,
        table: &table,
    };
    figure.write(out, |out| icicle.nodes.iter().for_each(|node| draw(node, out)));
    legend(icicle, out);
}

fn draw(node: &DrawnNode<'_>, out: &mut HtmlText) {
    let width = node.width * WIDTH;
    let depth = u32::try_from(node.depth).unwrap_or(u32::MAX);
    let (x, y) = (node.left * WIDTH, f64::from(depth) * ROW);
    out.mark("<g class=\"").mark(COLOURS.get(node.colour).copied().unwrap_or("f"));
    out.mark("\"><title>").words(node.routine).mark(", ").number(node.count).mark(" samples, ");
    out.percent(node.share).mark("; ").number(node.own).mark(" in itself</title><rect x=\"");
    out.measure(x).mark("\" y=\"").measure(y).mark("\" width=\"").measure(width);
    out.mark("\" height=\"19\"/>");
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "some hundreds of letters, and no fewer than none"
    )]
    let room = ((width - 8.0) / LETTER).max(0.0) as usize;
    if room >= 3 {
        out.mark("<text x=\"").measure(x + 4.0).mark("\" y=\"").measure(y + 14.0).mark("\">");
        out.words_in(node.routine, room).mark("</text>");
    }
    out.mark("</g>\n");
}

fn legend(icicle: &Icicle<'_>, out: &mut HtmlText) {
    out.mark("<ul class=\"legend\">");
    for (colour, object) in icicle.objects.iter().enumerate().take(COLOURS.len()) {
        out.mark("<li><svg width=\"12\" height=\"12\" aria-hidden=\"true\"><g class=\"");
        out.mark(COLOURS.get(colour).copied().unwrap_or("f"));
        out.mark("\"><rect width=\"12\" height=\"12\"/></g></svg><code>");
        match (colour + 1 == COLOURS.len() && icicle.objects.len() > COLOURS.len(), *object) {
            (true, _) => out.mark("all others"),
            (false, "") => out.mark("[end of a chain]"),
            (false, object) => out.words(object),
        };
        out.mark("</code></li>");
    }
    out.mark("</ul>\n");
}
