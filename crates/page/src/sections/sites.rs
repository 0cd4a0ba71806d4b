//! Which instructions were sampled, most first.

use crate::content::PageContent;
use analysis::report::{Cell as KeyValue, EventReport};
use analysis::table::number_table;
use render::{Cell, Head, HtmlText, Table};

pub(crate) fn write(content: &PageContent, out: &mut HtmlText) {
    for event in &content.sites.events {
        table(event).html(out);
    }
}

/// The routine first, as it is what one looks for.
fn table(event: &EventReport) -> Table<'_> {
    let mut table = number_table(event);
    table.caption.clone_from(&event.name);
    for head in table.heads.iter_mut().filter(|head| head.heading == "mean") {
        head.heading = "mean latency".into();
    }
    table.heads.insert(0, Head::left("routine"));
    table.heads.extend(["address", "object"].map(Head::left));
    for (cells, row) in table.rows.iter_mut().zip(&event.rows) {
        let [routine, address, object] = site(row.cells.first());
        cells.insert(0, routine);
        cells.extend([address, object]);
    }
    if let Some(more) = event.rows_total.checked_sub(event.rows.len()).filter(|more| *more > 0) {
        let shown = event.rows.iter().fold(0_u64, |sum, row| sum.saturating_add(row.count));
        let rest = event.totals.counted.saturating_sub(shown);
        let rows = if more == 1 { "more row" } else { "more rows" };
        table.foot = Some(format!("{more} {rows}, {rest} samples: `ebs report` has them"));
    }
    table
}

fn site(value: Option<&KeyValue>) -> [Cell<'_>; 3] {
    let names = |routine: String| [Cell::name(routine), Cell::name("-"), Cell::name("-")];
    match value {
        Some(KeyValue::Site(site) | KeyValue::Data(site)) => {
            let routine = match &site.routine {
                Ok(routine) => Cell::name(format!("{}+{:#x}", routine.name, routine.offset)),
                Err(unresolved) => Cell::name(unresolved.tag),
            };
            [routine, Cell::Address(site.address), Cell::name(&*site.object)]
        }
        Some(KeyValue::SiteMissing(missing) | KeyValue::Missing(missing)) => {
            names(format!("[{missing}]"))
        }
        _ => names("-".to_owned()),
    }
}
