//! `ebs plan`: what would be opened, without opening it.

mod arguments;
mod json;
mod text;

pub use arguments::{PlanArguments, PlanJob};

use crate::ebs::exit_status::{FAILURE, SUCCESS};
use anyhow::Result;
use recorder::catalogue::{CatalogueType, EventKind};
use recorder::emulated::Model;
use recorder::machine::facts::{Facts, FactsError, Version};
use recorder::plan::{Outline, outline};
use recorder::request::event_spec::RequestedEvent;
use recorder::{Refusal, Request, source};
use std::io::Write;
use std::path::Path;

/// Prints the plan, or with `--json` the refusal; gives the exit status.
///
/// # Errors
///
/// Facts that make no sense, a refusal (without `--json`), a failing output.
pub fn run(arguments: &PlanArguments, out: &mut dyn Write) -> Result<u8> {
    let job = &PlanJob::new(arguments)?;
    // Another machine's caches are not in its description.
    let is_known = job.root.is_none() || !job.emulation.cache.is_empty();
    let model = is_known.then(|| job.emulation.model(Path::new("/"))).transpose()?;
    let facts = facts(job);
    if !job.json {
        let outline = outlined(job, model.as_ref(), &facts?)?;
        out.write_all(text::render(&outline, &job.request).as_bytes())?;
        return Ok(SUCCESS);
    }
    let refused = match facts {
        Err(error) => json::Refused::unread(&error),
        Ok(facts) => match outlined(job, model.as_ref(), &facts) {
            Ok(outline) => {
                let plan = analysis::json::line(&json::Plan::new(&outline, &job.request))?;
                writeln!(out, "{plan}")?;
                return Ok(SUCCESS);
            }
            Err(refusal) => json::Refused::new(&refusal, nearest(&refusal, &job.request, &facts)),
        },
    };
    writeln!(out, "{}", analysis::json::line(&refused)?)?;
    Ok(FAILURE)
}

/// What a script may try instead: what the refusal names; for a type that
/// the machine has in its tables and yet cannot sample, its kin that it can.
fn nearest(refusal: &Refusal, request: &Request, facts: &Facts) -> Vec<String> {
    let named = refusal.nearest();
    if !named.is_empty() || refusal.is_usage() {
        return named.to_vec();
    }
    let Ok(RequestedEvent::Type(CatalogueType { kind: EventKind::Hardware(hardware), .. })) =
        request.event.event()
    else {
        return Vec::new();
    };
    let can = |name: &&&str| {
        let request = Request { event: (**name).into(), masks: Vec::new(), ..request.clone() };
        outline(&request, facts).is_ok()
    };
    hardware
        .related
        .iter()
        .chain(hardware.nearest)
        .filter(can)
        .take(2)
        .map(|&name| name.into())
        .collect()
}

fn facts(job: &PlanJob) -> Result<Facts, FactsError> {
    let version = job.version.map(|(major, minor)| Version(major, minor, 0));
    Ok(match &job.root {
        Some(root) => Facts::read_tree(root, version)?,
        None => {
            let mut facts = Facts::read_for(Path::new("/"), &job.request)?;
            facts.kernel.version = version.or(facts.kernel.version);
            facts
        }
    })
}

fn outlined(job: &PlanJob, model: Option<&Model>, facts: &Facts) -> Result<Outline, Refusal> {
    let mut outline = source::outline(&job.request, job.emulation.source, model, facts)?;
    if let Some((major, minor)) = job.version {
        outline.fit(Version(major, minor, 0));
    }
    Ok(outline)
}
