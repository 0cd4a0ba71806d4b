//! What caches of other sizes would miss.

use crate::content::PageContent;
use crate::figure::PagePicture;
use crate::heat_grid::number;
use analysis::curve::EventCurve;
use analysis::curve::{fits, marks, size};
use render::{Cell, Head, HtmlText, Table};

/// Pixels.
const LEFT: f64 = 60.0;
const PLOT: f64 = 800.0;
const RIGHT: f64 = 60.0;
const TOP: f64 = 46.0;
const TALL: f64 = 260.0;
const AXIS: f64 = 30.0;
/// Sizes that are written below.
const WRITTEN: u64 = 12;
/// How far the names of caches stand above each other.
const NAMES: f64 = 14.0;

pub(crate) fn write(content: &PageContent, out: &mut HtmlText) {
    let Ok(report) = &content.curve else { return };
    if let Some(curve) = &report.curve {
        picture(curve, out);
    }
}

fn table(curve: &EventCurve) -> Table<'static> {
    Table::of(
        format!("Misses of {} by cache size", curve.event),
        &curve.curve.points,
        &[
            (Head::left("size"), &|it| Cell::name(size(it.bytes))),
            (Head::number("bytes"), &|it| Cell::Count(it.bytes)),
            (Head::number("misses"), &|it| Cell::Count(it.misses)),
            (Head::number("left"), &|it| Cell::Count(it.left)),
            (Head::number("share"), &|it| Cell::Share(it.share)),
            (Head::left("of the model"), &|it| match marks(curve, it.bytes) {
                none if none.is_empty() => Cell::Nothing,
                there => Cell::name(there),
            }),
        ],
    )
}

fn picture(curve: &EventCurve, out: &mut HtmlText) {
    let fits = fits(curve);
    out.mark("<p class=\"share\">").words(&fits).mark("</p>\n");
    for told in curve.told().iter().chain(&curve.notes) {
        out.mark("<p class=\"told\">").words(told).mark("</p>\n");
    }
    let told = format!(
        "{fits}. Larger caches to the right, by powers of two; the line is the share of all that they \
         miss, the ground below what they miss at any size. Upright: the caches of the model."
    );
    let table = table(curve);
    let figure = PagePicture {
        id: "curve-0".to_owned(),
        kind: "curve",
        title: format!("Misses by cache size: {}", curve.event),
        told,
        width: LEFT + PLOT + RIGHT,
        height: TOP + TALL + AXIS,
        table: &table,
    };
    let plane = CurvePlane::of(curve);
    figure.write(out, |out| {
        plane.ground(curve, out);
        plane.line(curve, out);
        plane.marks(curve, out);
    });
}

struct CurvePlane {
    first: u64,
    octaves: f64,
    all: u64,
}

impl CurvePlane {
    fn of(curve: &EventCurve) -> CurvePlane {
        let points = curve.curve.points.iter().map(|point| point.bytes);
        let last = points.chain(curve.marks.iter().map(|mark| mark.bytes)).max();
        let first = curve.from.max(1);
        let octaves = (number(last.unwrap_or(first)) / number(first)).log2().max(1.0);
        CurvePlane { first, octaves, all: curve.curve.accesses.max(1) }
    }

    fn x(&self, bytes: u64) -> f64 {
        LEFT + (number(bytes.max(1)) / number(self.first)).log2() / self.octaves * PLOT
    }

    fn y(&self, misses: u64) -> f64 {
        TOP + TALL * (1.0 - number(misses) / number(self.all))
    }

    fn ground(&self, curve: &EventCurve, out: &mut HtmlText) {
        for quarter in 0..=4_u64 {
            let y = TOP + TALL * (1.0 - number(quarter) / 4.0);
            rule("rule", [LEFT, y, LEFT + PLOT, y], out);
            out.mark("<text class=\"axis\" x=\"0\" y=\"").measure(y + 4.0).mark("\">");
            out.words(&format!("{}%", quarter * 25)).mark("</text>\n");
        }
        let always = self.y(curve.curve.first + curve.curve.taken);
        out.mark("<rect class=\"always\" x=\"").measure(LEFT).mark("\" y=\"").measure(always);
        out.mark("\" width=\"").measure(PLOT).mark("\" height=\"");
        out.measure(TOP + TALL - always).mark("\"/>\n");
        let mut size_there = self.first;
        let step = (1..64).find(|step| self.octaves / number(*step) <= number(WRITTEN));
        while self.x(size_there) <= LEFT + PLOT + 0.5 {
            out.mark("<text class=\"axis\" x=\"").measure(self.x(size_there) - 14.0);
            out.mark("\" y=\"").measure(TOP + TALL + 20.0).mark("\">");
            out.words(&size(size_there)).mark("</text>\n");
            let next = step.and_then(|step| 1_u64.checked_shl(u32::try_from(step).ok()?));
            let Some(next) = next.and_then(|times| size_there.checked_mul(times)) else { break };
            size_there = next;
        }
    }

    /// From point to point, and on where nothing more is spared.
    fn line(&self, curve: &EventCurve, out: &mut HtmlText) {
        let points = &curve.curve.points;
        out.mark("<polyline class=\"curve-line\" points=\"");
        for point in points {
            out.measure(self.x(point.bytes)).mark(",").measure(self.y(point.misses)).mark(" ");
        }
        if let Some(last) = points.last() {
            out.measure(LEFT + PLOT).mark(",").measure(self.y(last.misses));
        }
        out.mark("\"/>\n");
        for point in points {
            out.mark("<circle class=\"curve-point\" r=\"3\" cx=\"").measure(self.x(point.bytes));
            out.mark("\" cy=\"").measure(self.y(point.misses)).mark("\"><title>");
            out.words(&format!("{}: {} misses", size(point.bytes), point.misses));
            out.mark("</title></circle>\n");
        }
    }

    /// The caches of the model that are not below the curve.
    fn marks(&self, curve: &EventCurve, out: &mut HtmlText) {
        let there = curve.marks.iter().filter(|mark| mark.bytes >= self.first);
        for (place, mark) in (0_u64..).zip(there) {
            let (x, y) = (self.x(mark.bytes), 12.0 + NAMES * number(place % 3));
            rule("curve-mark", [x, y + 3.0, x, TOP + TALL], out);
            out.mark("<text class=\"axis\" x=\"").measure(x - 20.0).mark("\" y=\"").measure(y);
            out.mark("\">").words(&format!("{}, {}", mark.name, size(mark.bytes)));
            out.mark("</text>\n");
        }
    }
}

fn rule(class: &'static str, [x1, y1, x2, y2]: [f64; 4], out: &mut HtmlText) {
    out.mark("<line class=\"").mark(class).mark("\" x1=\"").measure(x1).mark("\" y1=\"");
    out.measure(y1).mark("\" x2=\"").measure(x2).mark("\" y2=\"").measure(y2).mark("\"/>\n");
}

#[cfg(test)]
mod tests {
    use super::*;
    use analysis::curve::CurveMark;
    use analysis::curve::MissCurve;

    #[test]
    fn a_scale_ends_where_numbers_do() {
        let curve = MissCurve {
            accesses: 1,
            first: 1,
            taken: 0,
            again: 0,
            points: Vec::new(),
            fits_from: None,
            fits_share: 0.1,
        };
        for (from, bytes) in [(64, u64::MAX), (32_768, u64::MAX - 1), (1, 1 << 63), (0, 0)] {
            let curve = EventCurve {
                event: "l1_cache_miss".to_owned(),
                level: None,
                from,
                is_shared: false,
                curve: curve.clone(),
                marks: vec![CurveMark { name: "L3".to_owned(), bytes }],
                notes: Vec::new(),
            };
            let mut out = HtmlText::default();
            CurvePlane::of(&curve).ground(&curve, &mut out);
            let sizes = out.into_text().matches("class=\"axis\"").count();
            assert!((6..24).contains(&sizes), "{sizes} of {bytes}");
        }
    }
}
