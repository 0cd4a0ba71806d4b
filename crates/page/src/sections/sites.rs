//! Which instructions were sampled, most first.

use crate::content::PageContent;
use crate::html_text::HtmlText;
use crate::table::{PageCell, PageTable};
use analysis::Weighting;
use analysis::report::{Cell, EventReport, Row};

pub(crate) fn write(content: &PageContent, out: &mut HtmlText) {
    for event in &content.sites.events {
        table(event).write(out);
    }
}

struct SiteColumns<'e> {
    event: &'e EventReport,
    has_latency: bool,
    levels: &'e [String],
}

fn table(event: &EventReport) -> PageTable {
    let rows = &event.rows;
    let has_levels =
        rows.iter().any(|row| row.served.as_ref().is_some_and(|it| !it.levels.is_empty()));
    let columns = SiteColumns {
        event,
        has_latency: rows.iter().any(|row| latency(row).is_some()),
        levels: if has_levels { &event.levels } else { &[] },
    };
    let mut table = PageTable::new(event.name.as_str(), &columns.titles());
    rows.iter().for_each(|row| table.row(columns.cells(row)));
    if let Some(more) = event.rows_total.checked_sub(rows.len()).filter(|more| *more > 0) {
        let shown = rows.iter().fold(0_u64, |sum, row| sum.saturating_add(row.count));
        let rest = event.totals.counted.saturating_sub(shown);
        let rows = if more == 1 { "more row" } else { "more rows" };
        table.rest(format!("{more} {rows}, {rest} samples: `ebs report` has them"));
    }
    table
}

fn latency(row: &Row) -> Option<&analysis::report::Latencies> {
    row.served.as_ref()?.latency.as_ref()
}

impl SiteColumns<'_> {
    fn titles(&self) -> Vec<String> {
        let mut titles = vec!["routine", "#count"];
        if self.event.weighting == Weighting::Period {
            titles.push("#period");
        }
        titles.push("#share");
        if self.has_latency {
            titles.extend(["#cycles", "#mean latency", "#median", "#p95"]);
        }
        let levels = self.levels.iter().map(|level| format!("#{level}"));
        let titles = titles.into_iter().map(str::to_owned).chain(levels);
        titles.chain(["address", "object"].map(str::to_owned)).collect()
    }

    fn cells(&self, row: &Row) -> Vec<PageCell> {
        let [routine, address, object] = site(row.cells.first());
        let mut cells = vec![PageCell::Name(routine), PageCell::Number(row.count)];
        if self.event.weighting == Weighting::Period {
            cells.push(PageCell::Number(row.period));
        }
        cells.push(PageCell::Share(row.share));
        if self.has_latency {
            cells.extend(latency(row).map_or([const { PageCell::Nothing }; 4], |of| {
                [
                    PageCell::Share(of.share),
                    PageCell::Mean(of.mean),
                    PageCell::Number(of.median),
                    PageCell::Number(of.p95),
                ]
            }));
        }
        let served = row.served.as_ref();
        cells.extend(self.levels.iter().map(|level| {
            let share = served.and_then(|served| served.levels.get(level));
            share.map_or(PageCell::Nothing, |share| PageCell::Part(*share))
        }));
        cells.extend([PageCell::Name(address), PageCell::Name(object)]);
        cells
    }
}

fn site(cell: Option<&Cell>) -> [String; 3] {
    match cell {
        Some(Cell::Site(site) | Cell::Data(site)) => {
            let routine = match &site.routine {
                Ok(routine) => format!("{}+{:#x}", routine.name, routine.offset),
                Err(unresolved) => unresolved.tag.to_owned(),
            };
            [routine, format!("{:#x}", site.address), site.object.to_string()]
        }
        Some(Cell::SiteMissing(missing) | Cell::Missing(missing)) => {
            [format!("[{missing}]"), "-".to_owned(), "-".to_owned()]
        }
        _ => ["-"; 3].map(str::to_owned),
    }
}
