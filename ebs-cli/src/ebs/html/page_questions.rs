//! What a page asks of its recording, and the sections that come of it.

use super::shared_reading::SharedReading;
use crate::ebs::arguments::HtmlArguments;
use crate::ebs::input::End;
use crate::ebs::report;
use analysis::{ChainView, Filter, Glob, Key, Pipeline, Query, Report, TreeOrder, TreeQuery};
use anyhow::Result;
use page::{PageContent, SectionContent};
use std::path::Path;

/// Sites of a page.
const SITES: usize = 200;
/// Nodes of a tree that are told apart, of an event's samples or periods.
const LEAST_MILLIONTHS: u32 = 1000;

/// The queries of all sections.
#[derive(Debug)]
pub(super) struct PageQuestions {
    event: Option<Glob>,
    filters: Vec<Filter>,
}

impl PageQuestions {
    /// As typed.
    ///
    /// # Errors
    ///
    /// Words that are no filter.
    pub(super) fn new(arguments: &HtmlArguments) -> Result<PageQuestions> {
        Ok(PageQuestions {
            event: arguments.event.as_deref().map(Glob::new),
            filters: report::filters(&arguments.filter)?,
        })
    }

    /// In the order of [`PageQuestions::content`].
    pub(super) fn queries(&self) -> Vec<Query> {
        let asked =
            Query { event: self.event.clone(), filters: self.filters.clone(), ..Query::default() };
        let tree = TreeQuery { order: TreeOrder::Callees, least_millionths: LEAST_MILLIONTHS };
        vec![
            Query { top: Some(SITES), accesses: true, ..asked.clone() },
            Query { top: Some(SITES), ..asked.clone() },
            Query { keys: vec![Key::Stack], view: ChainView::Tree(tree), ..asked },
        ]
    }

    /// The sections, and how the recording ended.
    ///
    /// # Errors
    ///
    /// A recording whose samples cannot be counted by site.
    pub(super) fn content(
        &self,
        name: &str,
        mut reading: SharedReading,
    ) -> Result<(PageContent, End)> {
        let with_accesses = reading.next(Pipeline::finish);
        let plain = reading.next(Pipeline::finish);
        let sites = with_accesses.or(plain)?;
        let callers = callers(reading.next(Pipeline::finish));
        let damage = match &reading.end {
            End::Whole => None,
            End::Damaged(error) => Some(format!("{error:#}")),
        };
        let name = Path::new(name).file_name().map_or(name.into(), |it| it.to_string_lossy());
        let content = PageContent {
            name: name.into_owned(),
            made_by: format!("A recording of memory events, by ebs {}", env!("CARGO_PKG_VERSION")),
            sites,
            callers,
            damage,
        };
        Ok((content, reading.end))
    }
}

/// Trees that have more than the sampled routines.
fn callers(tree: Result<Report, analysis::Error>) -> SectionContent<Report> {
    let report = tree.map_err(|error| error.to_string())?;
    let trees = report.events.iter().filter_map(|event| event.tree.as_ref());
    let mut nodes = trees.flat_map(|tree| tree.nodes.iter());
    match nodes.any(|node| node.parent.is_some()) {
        true => Ok(report),
        false => Err("no call chains were recorded; ebs -g records them".to_owned()),
    }
}
