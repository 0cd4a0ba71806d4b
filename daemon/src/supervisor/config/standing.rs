//! `[[standing]]` and `[store]`: what is always recorded, and where.

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::Duration;

use recorder::request::event_spec::RequestedEvent;
use recorder::request::{CallGraph, CallGraphError};
use recorder::{EventSpec, HumanDuration, SiteTables};
use serde::Deserialize;

use super::error::ConfigError;
use super::words::{GroupName, ModeText};
use crate::control::NAME_BYTES;
use crate::guard::Size;
use crate::standing::{KernelCounting, StandingSpec, TargetDescription};
use crate::store::RetentionLimits;

const MIB: u64 = 1024 * 1024;
/// Bytes of a process's name (TASK_COMM_LEN), without its NUL.
const COMM: usize = 15;

/// An aggregate is recorded so often, where nothing is said.
const EVERY: Duration = Duration::from_secs(60);
const EVERY_MIN: Duration = Duration::from_secs(1);
const EVERY_MAX: Duration = Duration::from_secs(86_400);
/// Sites of a CPU, where nothing is said.
const SITES: u32 = 4096;
const SITES_RANGE: RangeInclusive<u32> = 64..=65_536;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    pub role: StandingSpec,
    /// Groups whose members may read it, besides the superuser.
    pub readers: Vec<u32>,
}

/// `[store]`.
#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct StoreText {
    directory: PathBuf,
    keep_free: Size,
    pub(super) user: Option<String>,
}

impl Default for StoreText {
    fn default() -> StoreText {
        let (directory, keep_free) = ("/var/lib/ebsd".into(), Size(1024 * MIB));
        StoreText { directory, keep_free, user: None }
    }
}

/// `[[standing]]`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StandingText {
    name: String,
    #[serde(rename = "type")]
    event: String,
    target: TargetDescription,
    #[serde(default)]
    mode: ModeText,
    interval: Option<u64>,
    #[serde(default)]
    allow_skid: bool,
    call_graph: Option<String>,
    aggregate_every: Option<HumanDuration>,
    sites: Option<u32>,
    by_process: Option<bool>,
    strides: Option<bool>,
    #[serde(default)]
    retention: RetentionText,
    #[serde(default)]
    readers: Vec<GroupName>,
}

#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct RetentionText {
    bytes: Size,
    age: HumanDuration,
}

impl Default for RetentionText {
    fn default() -> RetentionText {
        let week = Duration::from_secs(7 * 86_400);
        RetentionText { bytes: Size(1024 * MIB), age: HumanDuration(week) }
    }
}

pub(super) fn parse(
    texts: Vec<StandingText>,
    store: &StoreText,
    path: &Path,
    gid_of: &dyn Fn(&str) -> Option<u32>,
) -> Result<Vec<Standing>, ConfigError> {
    let mut all: Vec<Standing> = Vec::new();
    for text in texts {
        let name = text.name.clone();
        let wrong = |what: String| {
            let (path, name) = (path.to_owned(), name.clone());
            ConfigError::Standing { path, name, what }
        };
        if all.iter().any(|other| other.role.name == text.name) {
            return Err(wrong("there are two of that name".into()));
        }
        let checked = check(&text, store).and_then(|()| counted(&text));
        let counted = checked.map_err(&wrong)?;
        let call_graph = call_graph(&text).map_err(&wrong)?;
        let readers: Result<Vec<u32>, ConfigError> =
            text.readers.into_iter().map(|group| group.gid(path, gid_of)).collect();
        let role = StandingSpec {
            name: text.name,
            event: text.event,
            modes: text.mode.modes,
            interval: text.interval,
            allow_skid: text.allow_skid,
            call_graph,
            counted,
            target: text.target,
            kept: RetentionLimits {
                directory: store.directory.clone(),
                bytes: text.retention.bytes.0,
                age: text.retention.age.0,
                free: store.keep_free.0,
            },
        };
        all.push(Standing { role, readers: readers? });
    }
    Ok(all)
}

fn call_graph(text: &StandingText) -> Result<Option<CallGraph>, String> {
    let Some(how) = &text.call_graph else { return Ok(None) };
    let how = how.parse().map_err(|error: CallGraphError| error.to_string())?;
    match how {
        CallGraph::Stack(_) | CallGraph::BranchStack if text.mode.aggregate => Err(format!(
            "mode \"aggregate\" has callers by frame pointers alone, not by {how}: say \
             call_graph = \"fp\""
        )),
        how => Ok(Some(how)),
    }
}

/// What is said of counting in the kernel, with what was left unsaid.
fn counted(text: &StandingText) -> Result<Option<KernelCounting>, String> {
    let StandingText { mode, aggregate_every, sites, by_process, strides, .. } = text;
    if !mode.aggregate {
        let said = [
            ("aggregate_every", aggregate_every.is_some()),
            ("sites", sites.is_some()),
            ("by_process", by_process.is_some()),
            ("strides", strides.is_some()),
        ];
        return match said.into_iter().find(|(_, said)| *said) {
            Some((key, _)) => Err(format!("{key} is only for mode \"aggregate\"")),
            None => Ok(None),
        };
    }
    let every = aggregate_every.map_or(EVERY, |every| every.0);
    if !(EVERY_MIN..=EVERY_MAX).contains(&every) {
        return Err(format!("aggregate_every is {}: give 1s to 1d", HumanDuration(every)));
    }
    let sites = sites.unwrap_or(SITES);
    if !sites.is_power_of_two() || !SITES_RANGE.contains(&sites) {
        let (least, most) = (SITES_RANGE.start(), SITES_RANGE.end());
        return Err(format!("sites is {sites}: give a power of two from {least} to {most}"));
    }
    let (by_process, strides) = (by_process.unwrap_or(false), strides.unwrap_or(false));
    let tables = SiteTables { sites, by_process, strides, ..SiteTables::default() };
    Ok(Some(KernelCounting { every, tables }))
}

fn check(text: &StandingText, store: &StoreText) -> Result<(), String> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    if text.name.is_empty() || text.name.len() > NAME_BYTES || !text.name.bytes().all(is_plain) {
        return Err(format!("a name has 1 to {NAME_BYTES} letters, digits, - and _"));
    }
    match EventSpec::from(text.event.as_str()).event() {
        Ok(RequestedEvent::Type(_)) => {}
        Ok(_) => {
            return Err(format!("type {:?} is none of the table (`ebs -h`)", text.event));
        }
        Err(error) => return Err(error.to_string()),
    }
    if text.interval.is_some_and(|interval| interval == 0 || interval > i64::MAX.cast_unsigned()) {
        return Err("interval is no number from 1 to 2^63 - 1".into());
    }
    if text.retention.bytes.0 < MIB {
        return Err(format!("retention.bytes is {}: give at least 1 MiB", text.retention.bytes));
    }
    if text.retention.age.0 < Duration::from_secs(60) {
        return Err(format!("retention.age is {}: give at least 1m", text.retention.age));
    }
    if !store.directory.is_absolute() {
        return Err(format!("store.directory {} is no absolute path", store.directory.display()));
    }
    match &text.target {
        TargetDescription::PidFile(path) if !path.is_absolute() => {
            Err(format!("pid_file {} is no absolute path", path.display()))
        }
        TargetDescription::Comm(name) if name.is_empty() || name.len() > COMM => {
            Err(format!("comm {name:?}: the kernel keeps 1 to {COMM} bytes of a name"))
        }
        TargetDescription::Unit(unit) if unit.is_empty() || unit.contains('/') => {
            Err(format!("unit {unit:?} is no name of a unit, such as \"nginx.service\""))
        }
        _ => Ok(()),
    }
}
