//! Cells of a picture by heat: a path a colour, so that a page does not grow
//! with its cells more than it must.

use analysis::maps::MapCell;
use render::HtmlText;
use std::collections::BTreeMap;

/// Paths by heat, from little on.
const HEAT: [&str; 5] = [
    "<path class=\"h1\" d=\"",
    "<path class=\"h2\" d=\"",
    "<path class=\"h3\" d=\"",
    "<path class=\"h4\" d=\"",
    "<path class=\"h5\" d=\"",
];

/// Where cells are drawn, and how large: pixels.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HeatGrid {
    pub(crate) left: f64,
    pub(crate) top: f64,
    pub(crate) width: f64,
    pub(crate) height: f64,
    pub(crate) most: u64,
}

impl HeatGrid {
    /// Draws cells; neighbours of one colour as one.
    pub(crate) fn draw(&self, cells: &[MapCell], out: &mut HtmlText) {
        let by_place: BTreeMap<[u64; 2], usize> =
            cells.iter().map(|cell| ([cell.row, cell.column], self.heat(cell.count))).collect();
        let mut runs: [Vec<[u64; 3]>; HEAT.len()] = Default::default();
        for ([row, column], heat) in by_place {
            let Some(of_heat) = runs.get_mut(heat) else { continue };
            match of_heat.last_mut() {
                Some([last, from, length]) if *last == row && *from + *length == column => {
                    *length += 1
                }
                _ => of_heat.push([row, column, 1]),
            }
        }
        for (markup, runs) in HEAT.into_iter().zip(runs) {
            if runs.is_empty() {
                continue;
            }
            out.mark(markup);
            for run in runs {
                let [row, column, length] = run.map(number);
                out.mark("M").measure(self.left + column * self.width).mark(" ");
                out.measure(self.top + row * self.height).mark("h").measure(length * self.width);
                out.mark("v")
                    .measure(self.height)
                    .mark("h")
                    .measure(-length * self.width)
                    .mark("z");
            }
            out.mark("\"/>\n");
        }
    }

    fn heat(&self, count: u64) -> usize {
        let part = (number(count) / number(self.most.max(1))).sqrt();
        [0.2, 0.4, 0.6, 0.8].iter().filter(|step| part > **step).count()
    }
}

#[expect(clippy::cast_precision_loss, reason = "a picture has some thousand pixels")]
pub(crate) fn number(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_drawn_as_one() {
        let grid = HeatGrid { left: 10.0, top: 0.0, width: 8.0, height: 6.0, most: 100 };
        let cell = |row, column, count| MapCell { row, column, count };
        let mut out = HtmlText::default();
        grid.draw(&[cell(0, 0, 100), cell(0, 1, 90), cell(1, 2, 1)], &mut out);
        assert_eq!(
            out.into_text(),
            "<path class=\"h1\" d=\"M26 6h8v6h-8z\"/>\n<path class=\"h5\" d=\"M10 0h16v6h-16z\"/>\n"
        );
    }
}
