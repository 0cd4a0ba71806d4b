//! Histograms as text: pure functions of numbers.

use crate::plots::collect::SetOrigin;
use crate::plots::plot_report::{EventPlots, PlotBar, SetPlot};
use crate::print::table::{Style, note, number_of, printable};
use crate::query::Weighting;
use render::{Cell, Head, Table};
use std::fmt::Write;

/// Columns of a line where nothing says how long lines are.
const COLUMNS: usize = 80;
/// Sets that are listed with their counts, and levels of a latency.
const SETS: usize = 8;
const LEVELS: usize = 2;
/// Columns of the longest bar, at least and at most.
const SHORTEST: usize = 8;
const LONGEST: usize = 40;

/// From nothing to a whole one, by eighths: to the right, and upwards.
const RIGHTWARDS: [char; 9] = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'];
const UPWARDS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// What bars are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlotGlyphs {
    /// Unicode's blocks, by eighths.
    Blocks,
    /// `#`, for terminals without UTF-8.
    Ascii,
}

/// The histograms of all events, one below the other.
pub fn render(plots: &[EventPlots], glyphs: PlotGlyphs, style: Style) -> String {
    let mut text = PlotText { text: String::new(), glyphs, style };
    for plot in plots {
        text.text.push('\n');
        text.sets(plot);
        text.text.push('\n');
        text.latencies(plot);
    }
    text.text
}

struct PlotText {
    text: String,
    glyphs: PlotGlyphs,
    style: Style,
}

impl PlotText {
    fn columns(&self) -> usize {
        self.style.width.unwrap_or(COLUMNS)
    }

    fn note(&mut self, line: &str) {
        self.text.push_str(&note(line, self.style));
    }

    fn bars(&mut self, bars: &str) {
        let (colour, plain) = if self.style.color { ("\x1b[36m", "\x1b[0m") } else { ("", "") };
        let _ = writeln!(self.text, "{colour}{}{plain}", bars.trim_end());
    }

    fn sets(&mut self, plot: &EventPlots) {
        let SetPlot { line, origin, bars } = &plot.sets;
        let count = sum(bars);
        let origin = match origin {
            SetOrigin::Model => "as the recording's model has them",
            SetOrigin::Machine => "as this machine has them",
            SetOrigin::Assumed => "which is assumed",
        };
        let samples = number_of(count, "sample");
        self.note(&format!(
            "{}: {samples} by set of the L1D that their address falls into",
            plot.name
        ));
        let sets = number_of(bars.len() as u64, "set");
        self.note(&format!("{sets} of {line}-byte lines, {origin}"));
        if count > 0 {
            let weights: Vec<u64> = bars.iter().map(|bar| bar.weight(plot.weighting)).collect();
            for line in picture(&weights, self.columns(), self.glyphs) {
                self.bars(&line);
            }
            let width = weights.len().div_ceil(per_column(weights.len(), self.columns()));
            let last = (bars.len() - 1).to_string();
            let _ = writeln!(self.text, "0{last:>0$}", width.saturating_sub(1).max(last.len() + 1));
            self.fullest(plot);
        }
        self.lacking(plot, count, "data address");
    }

    fn fullest(&mut self, plot: &EventPlots) {
        let bars = &plot.sets.bars;
        let mut order: Vec<&PlotBar> = bars.iter().filter(|bar| bar.count > 0).collect();
        order.sort_by_key(|bar| std::cmp::Reverse(bar.weight(plot.weighting)));
        let (shown, others) = order.split_at(order.len().min(SETS));
        self.rows("set", shown, plot.weighting);
        if !others.is_empty() {
            let rest = others.iter().fold(0, |all, bar| bar.count.saturating_add(all));
            let (sets, rest) =
                (number_of(others.len() as u64, "more set"), number_of(rest, "sample"));
            self.note(&format!("{sets}, {rest}"));
        }
    }

    fn latencies(&mut self, plot: &EventPlots) {
        let bars = &plot.latencies.bars;
        let count = sum(bars);
        let heading = format!("{}: {} by latency", plot.name, number_of(count, "sample"));
        self.note(&heading);
        if count > 0 {
            let bars: Vec<&PlotBar> = bars.iter().collect();
            self.rows("cycles", &bars, plot.weighting);
        }
        self.lacking(plot, count, "latency");
    }

    fn lacking(&mut self, plot: &EventPlots, shown: u64, what: &str) {
        let lacking = plot.counted.saturating_sub(shown);
        if lacking == 0 {
            return;
        }
        let kernel = match plot.in_kernel {
            0 => String::new(),
            hits => format!(", {hits} of them counted in the kernel, which keeps none of each"),
        };
        self.note(&format!("in no bar: {} without a {what}{kernel}", number_of(lacking, "sample")));
    }

    fn rows(&mut self, heading: &'static str, bars: &[&PlotBar], weighting: Weighting) {
        let by_period = weighting == Weighting::Period;
        let mut heads = vec![Head::number("count"), Head::number("share"), Head::number(heading)];
        if by_period {
            heads.insert(1, Head::number("period"));
        }
        let mut table = Table::new("", heads);
        table.rows.extend(bars.iter().map(|bar| {
            let mut cells = vec![Cell::Count(bar.count)];
            cells.extend(by_period.then_some(Cell::Count(bar.period)));
            cells.extend([Cell::Share(bar.share), Cell::name(&*bar.label)]);
            cells
        }));
        let text = table.text(None, self.style.color);
        let mut lines = text.lines();
        let titles = lines.next().unwrap_or_default();
        let levels: Vec<String> = bars.iter().map(|bar| levels(bar)).collect();
        let beside = levels.iter().map(|text| text.chars().count() + 2).max().unwrap_or(0);
        let taken = text.lines().last().map_or(0, |line| line.chars().count() + 2) + beside;
        let length = self.columns().saturating_sub(taken).clamp(SHORTEST, LONGEST);
        let most = bars.iter().map(|bar| bar.weight(weighting)).max().unwrap_or(0);
        let _ = writeln!(self.text, "{titles}");
        for ((bar, numbers), levels) in bars.iter().zip(lines).zip(&levels) {
            let drawn = drawn(Part { weight: bar.weight(weighting), most }, length, self.glyphs);
            let padded = match levels.is_empty() {
                true => drawn.trim_end().to_owned(),
                false => drawn,
            };
            let (colour, plain) = if self.style.color { ("\x1b[36m", "\x1b[0m") } else { ("", "") };
            let line = format!("{numbers}  {colour}{padded}{plain}  {levels}");
            self.text.push_str(line.trim_end());
            self.text.push('\n');
        }
    }
}

fn sum(bars: &[PlotBar]) -> u64 {
    bars.iter().fold(0, |all, bar| bar.count.saturating_add(all))
}

fn levels(bar: &PlotBar) -> String {
    let told = bar.levels.iter().take(LEVELS);
    let mut told: Vec<String> =
        told.map(|level| format!("{} {}", printable(&level.name), level.count)).collect();
    let more = bar.levels.len().saturating_sub(LEVELS);
    told.extend((more > 0).then(|| format!("{more} more")));
    told.join("; ")
}

#[derive(Clone, Copy, Debug)]
struct Part {
    weight: u64,
    most: u64,
}

impl Part {
    /// So many of `steps`, rounded down; of something at least one.
    fn steps(self, steps: usize) -> usize {
        let part = u128::from(self.weight) * steps as u128 / u128::from(self.most.max(1));
        usize::try_from(part).unwrap_or(steps).clamp(usize::from(self.weight > 0), steps)
    }
}

/// A bar from left to right in so many columns.
fn drawn(part: Part, columns: usize, glyphs: PlotGlyphs) -> String {
    let mut text = String::new();
    match glyphs {
        PlotGlyphs::Ascii => text = "#".repeat(part.steps(columns)),
        PlotGlyphs::Blocks => {
            let eighths = part.steps(columns * 8);
            (0..columns).for_each(|column| {
                text.push(RIGHTWARDS[eighths.saturating_sub(column * 8).min(8)])
            });
            text.truncate(text.trim_end().len());
        }
    }
    let blank = columns.saturating_sub(text.chars().count());
    text + &" ".repeat(blank)
}

/// Bars beside each other, the topmost line first; where there are more bars
/// than columns several are one.
fn picture(weights: &[u64], columns: usize, glyphs: PlotGlyphs) -> Vec<String> {
    let per_column = per_column(weights.len(), columns);
    let sums: Vec<u64> = weights
        .chunks(per_column)
        .map(|several| several.iter().fold(0, |all: u64, one| all.saturating_add(*one)))
        .collect();
    let most = sums.iter().copied().max().unwrap_or(0);
    let (lines, steps) = match glyphs {
        PlotGlyphs::Blocks => (4, 8),
        PlotGlyphs::Ascii => (8, 1),
    };
    let filled = |weight: u64, line: usize| {
        let filled = Part { weight, most }.steps(lines * steps);
        filled.saturating_sub(line * steps).min(steps)
    };
    let line = |line: usize| {
        let glyph = |weight: &u64| match (glyphs, filled(*weight, line)) {
            (PlotGlyphs::Blocks, eighths) => UPWARDS[eighths],
            (PlotGlyphs::Ascii, 0) => ' ',
            (PlotGlyphs::Ascii, _) => '#',
        };
        sums.iter().map(glyph).collect()
    };
    (0..lines).rev().map(line).collect()
}

/// Bars that share a column.
fn per_column(bars: usize, columns: usize) -> usize {
    bars.div_ceil(columns.max(1)).max(1)
}

#[cfg(test)]
mod tests;
