use super::*;
use crate::plots::plot_report::{LatencyPlot, PlotLevel};

const BLOCKS: PlotGlyphs = PlotGlyphs::Blocks;
const ASCII: PlotGlyphs = PlotGlyphs::Ascii;

fn bar(label: &str, count: u64) -> PlotBar {
    #[expect(clippy::cast_precision_loss, reason = "a small number")]
    let share = count as f64 / 20.0;
    PlotBar { label: label.to_owned(), count, period: count * 3, share, levels: Vec::new() }
}

fn plots(weighting: Weighting) -> Vec<EventPlots> {
    let sets = (0..16).map(|set| bar(&set.to_string(), if set % 5 == 0 { set } else { 0 }));
    let levels = vec![
        PlotLevel { name: "L2 hit".to_owned(), count: 10 },
        PlotLevel { name: "L3 hit\u{1b}".to_owned(), count: 2 },
        PlotLevel { name: "LFB hit".to_owned(), count: 1 },
    ];
    let latencies = vec![
        PlotBar { levels, ..bar("8-15", 13) },
        bar("16-31", 0),
        PlotBar {
            levels: vec![PlotLevel { name: "RAM hit".to_owned(), count: 1 }],
            ..bar("32-63", 1)
        },
    ];
    vec![EventPlots {
        name: "miss".to_owned(),
        weighting,
        counted: 40,
        in_kernel: 4,
        sets: SetPlot { line: 64, origin: SetOrigin::Model, bars: sets.collect() },
        latencies: LatencyPlot { bars: latencies },
    }]
}

#[test]
fn bars_are_drawn_to_the_eighth() {
    let of = |weight, most| drawn(Part { weight, most }, 2, BLOCKS);
    assert_eq!(of(0, 16), "  ");
    assert_eq!(of(1, 16), "▏ ");
    assert_eq!(of(7, 16), "▉ ");
    assert_eq!(of(8, 16), "█ ");
    assert_eq!(of(11, 16), "█▍");
    assert_eq!(of(16, 16), "██");
    // What is there is seen, and nothing is longer than the longest.
    assert_eq!(of(1, u64::MAX), "▏ ");
    assert_eq!(of(u64::MAX, u64::MAX), "██");
    assert_eq!(of(0, 0), "  ");
    assert_eq!(drawn(Part { weight: 1, most: 1000 }, 4, ASCII), "#   ");
    assert_eq!(drawn(Part { weight: 500, most: 1000 }, 4, ASCII), "##  ");
}

#[test]
fn pictures_stand_upright() {
    assert_eq!(picture(&[0, 1, 16, 32], 80, BLOCKS), ["   █", "   █", "  ██", " ▁██"]);
    let ascii = picture(&[8, 4, 0], 80, ASCII);
    assert_eq!(ascii.first().map(String::as_str), Some("#  "));
    assert_eq!(ascii.last().map(String::as_str), Some("## "));
    // Four bars in two columns: sums.
    assert_eq!(picture(&[1, 1, 4, 0], 2, BLOCKS), [" █", " █", "██", "██"]);
    assert_eq!(picture(&[], 2, BLOCKS), ["", "", "", ""]);
    assert_eq!(picture(&[5], 0, BLOCKS), ["█"; 4]);
}

#[test]
fn a_plot_reads_well() {
    insta::assert_snapshot!(render(&plots(Weighting::Count), BLOCKS, Style::default()));
}

#[test]
fn a_plot_without_utf_8_is_ascii() {
    let text = render(&plots(Weighting::Period), ASCII, Style::default());
    assert!(text.is_ascii(), "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn lines_fit_and_colours_end() {
    for width in [40, 60, 80, 200] {
        let style = Style { width: Some(width), color: true, ..Style::default() };
        let text = render(&plots(Weighting::Count), BLOCKS, style);
        assert_eq!(text.matches("\x1b[36m").count(), 4 + 3 + 3, "{text}");
        let plain = render(&plots(Weighting::Count), BLOCKS, Style { color: false, ..style });
        let bars = plain.lines().filter(|line| !line.starts_with('#'));
        let longest = bars.map(|line| line.chars().count()).max();
        assert!(longest <= Some(width.max(72)), "{plain}");
    }
}
