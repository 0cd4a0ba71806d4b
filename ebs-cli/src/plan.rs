//! `ebs plan`: what would be opened, without opening it.

mod json;
mod text;

use crate::exit_status::{FAILURE, SUCCESS};
use crate::invocation::PlanJob;
use anyhow::Result;
use daemon::facts::{Facts, Version};
use daemon::plan::{Outline, outline};
use daemon::{Refusal, Request};
use std::io::Write;
use std::path::Path;

/// Prints the plan, or with `--json` the refusal; gives the exit status.
///
/// # Errors
///
/// Facts that make no sense, a refusal (without `--json`), a failing output.
pub fn run(job: &PlanJob, out: &mut dyn Write) -> Result<u8> {
    let facts = facts(job)?;
    let outline = outlined(&job.request, &facts, job.version);
    if job.json {
        let (value, status) = match &outline {
            Ok(outline) => {
                (serde_json::to_string(&json::Plan::new(outline, &job.request))?, SUCCESS)
            }
            Err(refusal) => (serde_json::to_string(&json::Refused::new(refusal))?, FAILURE),
        };
        writeln!(out, "{value}")?;
        return Ok(status);
    }
    out.write_all(text::render(&outline?, &job.request).as_bytes())?;
    Ok(SUCCESS)
}

fn facts(job: &PlanJob) -> Result<Facts> {
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

fn outlined(
    request: &Request,
    facts: &Facts,
    version: Option<(u32, u32)>,
) -> Result<Outline, Refusal> {
    let mut outline = outline(request, facts)?;
    if let Some((major, minor)) = version {
        outline.fit(Version(major, minor, 0));
    }
    Ok(outline)
}
