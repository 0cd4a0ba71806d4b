//! Curves as a drawing (SVG), and the scale that both pictures have.

use super::rows::size;
use latency::order::VisitOrder;
use latency::part::curves::LatencyCurve;
use std::fmt::Write;

/// From the least to the most of an axis, which is a logarithm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Span {
    pub(super) least: f64,
    pub(super) most: f64,
}

impl Span {
    fn of(values: impl Iterator<Item = f64> + Clone) -> Span {
        let least = values.clone().fold(f64::INFINITY, f64::min).max(1e-3);
        Span { least, most: values.fold(least * 1.001, f64::max) }
    }

    /// Where a value is, from 0 to 1.
    pub(super) fn part(self, value: f64) -> f64 {
        let part = (value.max(1e-3) / self.least).ln() / (self.most / self.least).ln();
        part.clamp(0.0, 1.0)
    }

    pub(super) fn at(self, part: f64) -> f64 {
        self.least * (self.most / self.least).powf(part)
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Scale {
    pub(super) sizes: Span,
    pub(super) times: Span,
}

impl Scale {
    /// That of curves of which one has two points at least.
    pub(super) fn of(curves: &[LatencyCurve]) -> Option<Scale> {
        let points = || curves.iter().flat_map(|curve| &curve.points);
        curves.iter().any(|curve| curve.points.len() > 1).then(|| Scale {
            sizes: Span::of(points().map(|point| point.size as f64)),
            times: Span::of(points().map(|point| point.load.nanoseconds.minimum)),
        })
    }
}

pub(super) fn name(curve: &LatencyCurve) -> String {
    let pages = match (curve.pages.huge, curve.pages.are_as_asked()) {
        (false, _) => "4 KiB",
        (true, true) => "2 MiB",
        (true, false) => "2 MiB in part",
    };
    match curve.order {
        VisitOrder::CrossPage => format!("pages of {pages}, at random"),
        VisitOrder::PageLocal => format!("pages of {pages}, page by page"),
        VisitOrder::LinePerPage => format!("pages of {pages}, one line of each"),
        VisitOrder::Stride(bytes) => format!("pages of {pages}, {bytes} bytes apart"),
    }
}

const LEFT: f64 = 70.0;
const TOP: f64 = 10.0;
const WIDTH: f64 = 800.0;
const HEIGHT: f64 = 400.0;
/// One of each curve, also told apart without colours: by dashes.
const LINES: [&str; 3] = [
    "stroke=\"#0b6e4f\"",
    "stroke=\"#b3261e\" stroke-dasharray=\"8 3\"",
    "stroke=\"#1f4e99\" stroke-dasharray=\"2 3\"",
];

/// The drawing; nothing where there are no curves.
pub(super) fn svg(curves: &[LatencyCurve]) -> String {
    let Some(scale) = Scale::of(curves) else { return String::new() };
    let across = |value: f64| LEFT + scale.sizes.part(value) * WIDTH;
    let down = |value: f64| TOP + (1.0 - scale.times.part(value)) * HEIGHT;
    let mut text = String::from(
        "<svg viewBox=\"0 0 900 540\" role=\"img\" aria-label=\"nanoseconds of a load by bytes \
         visited\">\n",
    );
    let bottom = TOP + HEIGHT;
    let mut octave = 4096_u64;
    while octave as f64 <= scale.sizes.most {
        let at = across(octave as f64);
        let _ = writeln!(
            text,
            "<line x1=\"{at:.1}\" y1=\"{TOP}\" x2=\"{at:.1}\" y2=\"{bottom}\" stroke=\"#ddd\"/>\
             <text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            bottom + 18.0,
            size(octave)
        );
        octave = octave.saturating_mul(4);
    }
    for time in [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0] {
        if (scale.times.least..=scale.times.most).contains(&time) {
            let at = down(time);
            let _ = writeln!(
                text,
                "<line x1=\"{LEFT}\" y1=\"{at:.1}\" x2=\"{:.1}\" y2=\"{at:.1}\" stroke=\"#ddd\"/>\
                 <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{time} ns</text>",
                LEFT + WIDTH,
                LEFT - 6.0,
                at + 4.0
            );
        }
    }
    for (place, (curve, line)) in curves.iter().zip(LINES).enumerate() {
        let points: Vec<String> = curve
            .points
            .iter()
            .map(|point| {
                let (x, y) = (across(point.size as f64), down(point.load.nanoseconds.minimum));
                format!("{x:.1},{y:.1}")
            })
            .collect();
        let legend = bottom + 42.0 + 20.0 * place as f64;
        let _ = writeln!(
            text,
            "<polyline fill=\"none\" stroke-width=\"2\" {line} points=\"{}\"/>\
             <line x1=\"{LEFT}\" y1=\"{legend}\" x2=\"{:.1}\" y2=\"{legend}\" stroke-width=\"2\" \
             {line}/><text x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            points.join(" "),
            LEFT + 40.0,
            LEFT + 48.0,
            legend + 4.0,
            name(curve)
        );
    }
    text.push_str("</svg>\n");
    text
}
