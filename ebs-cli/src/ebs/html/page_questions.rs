//! What a page asks of its recording, and the sections that come of it.

use crate::ebs::html::HtmlArguments;
use crate::ebs::input::End;
use crate::ebs::shared_reading::SharedReading;
use crate::ebs::{causes, report};
use analysis::c2c::SharingReport;
use analysis::curve::CurveReport;
use analysis::layout::TypeReport;
use analysis::maps::MapReport;
use analysis::{ChainView, Filter, Glob, Key, Pipeline, Query, Report, TreeOrder, TreeQuery, View};
use anyhow::Result;
use page::{PageContent, SectionContent};
use std::path::Path;

const SITES: usize = 200;
const THREADS: usize = 64;
/// Bytes of a line.
const LINE: u64 = 64;
/// Nodes of a tree that are told apart, of an event's samples or periods.
const LEAST_MILLIONTHS: u32 = 1000;

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

    pub(super) fn asked(&self) -> Query {
        Query { event: self.event.clone(), filters: self.filters.clone(), ..Query::default() }
    }

    /// In the order of [`PageQuestions::content`].
    ///
    /// # Errors
    ///
    /// A machine whose caches cannot be read.
    pub(super) fn queries(&self) -> Result<Vec<Query>> {
        let asked = self.asked();
        let tree = TreeQuery { order: TreeOrder::Callees, least_millionths: LEAST_MILLIONTHS };
        let level = Key::parse_list("level")?;
        let thread = Key::parse_list("comm,tid")?;
        let caches = causes::caches(&[])?;
        let rows = Query { top: Some(SITES), ..asked.clone() };
        let overview = Query {
            accesses: true,
            views: vec![
                View::Causes(caches.clone()),
                View::SharedLines(LINE),
                View::Types,
                View::Maps(caches),
                View::Curves,
            ],
            ..rows.clone()
        };
        Ok(vec![
            overview,
            rows,
            Query { keys: vec![Key::Stack], chains: ChainView::Tree(tree), ..asked.clone() },
            Query { keys: level, accesses: true, ..asked.clone() },
            Query { keys: thread, top: Some(THREADS), ..asked },
        ])
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
        let overview = reading.next(Pipeline::overview);
        let rows = reading.next(Pipeline::finish);
        let callers = callers(reading.next(Pipeline::finish));
        let levels = levels(reading.next(Pipeline::finish));
        let threads = reading.next(Pipeline::finish).map_err(|error| error.to_string());
        let (sites, causes, sharing, types, maps, curve);
        match overview {
            Ok(of) => {
                sites = of.rows;
                causes = of.causes.map_err(|error| error.to_string());
                sharing = self::sharing(of.sharing);
                types = self::types(of.types);
                maps = self::maps(of.maps);
                curve = self::curve(of.curves);
            }
            // What the kernel counted has rows, and nothing of single accesses.
            Err(error) => {
                let why = error.to_string();
                sites = rows?;
                causes = Err(why.clone());
                sharing = Err(why.clone());
                types = Err(why.clone());
                maps = Err(why.clone());
                curve = Err(why);
            }
        }
        let damage = match &reading.end {
            End::Whole => None,
            End::Damaged(error) => Some(format!("{error:#}")),
        };
        let name = Path::new(name).file_name().map_or(name.into(), |it| it.to_string_lossy());
        let content = PageContent {
            name: name.into_owned(),
            made_by: format!("A recording of memory events, by ebs {}", env!("CARGO_PKG_VERSION")),
            sites,
            threads,
            callers,
            causes,
            curve,
            levels,
            sharing,
            types,
            maps,
            routines: Err("the recording was read once".to_owned()),
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

/// Of samples that tell what served them.
fn levels(report: Result<Report, analysis::Error>) -> SectionContent<Report> {
    let report = report.map_err(|error| error.to_string())?;
    match report.events.iter().any(|event| !event.levels.is_empty()) {
        true => Ok(report),
        false => {
            Err("no sample tells which level served it; load_latency, and misses of caches, do"
                .to_owned())
        }
    }
}

/// Lines that more than one thread used.
fn sharing(report: SharingReport) -> SectionContent<SharingReport> {
    match (report.lines.is_empty(), report.samples == report.without_address) {
        (false, _) => Ok(report),
        (true, true) => Err("no sample has a data address".to_owned()),
        (true, false) => {
            Err("no line was sampled that several threads used and one wrote".to_owned())
        }
    }
}

fn types(report: TypeReport) -> SectionContent<TypeReport> {
    match report.types.is_empty() {
        false => Ok(report),
        true => {
            Err("no sample is on a type that is known: types come from debug info (-g) of the \
                     recorded programs, and from samples with registers or data addresses"
                .to_owned())
        }
    }
}

/// Samples with data addresses.
fn maps(report: MapReport) -> SectionContent<MapReport> {
    match report.events.is_empty() {
        false => Ok(report),
        true => Err("no sample has a data address".to_owned()),
    }
}

/// With a curve; else with what each event lacks.
fn curve(report: CurveReport) -> SectionContent<CurveReport> {
    match report.curve.is_some() {
        true => Ok(report),
        false => Err(report.lack()),
    }
}
