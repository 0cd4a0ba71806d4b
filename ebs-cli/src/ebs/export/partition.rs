//! Which part of a fleet's samples a recording is: a host's of a day.

use analysis::Report;
use chrono::DateTime;
use perfdata::segment::SegmentHeader;
use perfdata::stream::{Feature, FeatureId, Features};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// What stands for a value that is not known, as for Hive and what reads its
/// layout.
const UNKNOWN: &str = "__HIVE_DEFAULT_PARTITION__";
const NANOSECONDS: u64 = 1_000_000_000;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Partition {
    host: Option<String>,
    /// Seconds since 1970, UTC.
    begin: u64,
}

impl Partition {
    /// That of a recording: the day is that of its first sample, where it tells
    /// what its clock had to do with that of the wall, of a segment that on which
    /// it was begun; else that on which its file was changed last.
    pub(super) fn of(
        report: &Report,
        features: &Features,
        segment: Option<&SegmentHeader>,
        file: Option<&Path>,
    ) -> Partition {
        let begun = |it: &SegmentHeader| it.begun.saturating_add_signed(it.realtime_offset);
        let told = wall(features).or_else(|| segment.map(|it| begun(it) / NANOSECONDS));
        let changed = || fs::metadata(file?).ok()?.modified().ok();
        let since = |time: SystemTime| time.duration_since(UNIX_EPOCH).ok();
        let changed = || since(changed().unwrap_or_else(SystemTime::now));
        let begin = told.or_else(|| changed().map(|since| since.as_secs())).unwrap_or(0);
        Partition { host: report.machine.hostname.clone(), begin }
    }

    /// Its folder, below that of the fleet: `host=web-1/day=2026-11-28`.
    pub(super) fn folder(&self) -> PathBuf {
        let host = self.host.as_deref().filter(|host| !host.is_empty());
        let host = host.map_or_else(|| UNKNOWN.to_owned(), part);
        Path::new(&format!("host={host}")).join(format!("day={}", day(self.begin)))
    }
}

/// When a recording began, seconds since 1970.
fn wall(features: &Features) -> Option<u64> {
    let Some(Feature::ClockReference { wall, clock, .. }) =
        features.details.get(&FeatureId::CLOCK_DATA)
    else {
        return None;
    };
    let first = features.sample_time.map_or(*clock, |(first, _)| first.0);
    Some(wall.saturating_add(first).saturating_sub(*clock) / NANOSECONDS)
}

/// A name as part of a path: what is no letter, digit, `.`, `_` or `-` as `%2F`.
fn part(name: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    let parts = name.bytes().map(|byte| match plain(byte) {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    });
    parts.collect()
}

/// The day of a time, as `2026-11-28`.
fn day(seconds: u64) -> String {
    let time = i64::try_from(seconds).ok().and_then(|seconds| DateTime::from_timestamp(seconds, 0));
    time.map_or_else(|| UNKNOWN.to_owned(), |time| time.date_naive().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_say_host_and_day() {
        // `date -u -d @SECONDS +%F`
        for (seconds, expected) in [
            (0, "1970-01-01"),
            (951_782_399, "2000-02-28"),
            (951_782_400, "2000-02-29"),
            (951_868_800, "2000-03-01"),
            (1_795_824_000, "2026-11-28"),
            (4_107_542_399, "2100-02-28"),
            (4_107_542_400, "2100-03-01"),
            (u64::MAX, UNKNOWN),
        ] {
            assert_eq!(day(seconds), expected, "{seconds}");
        }
        let of = |host: Option<&str>| {
            let partition = Partition { host: host.map(str::to_owned), begin: 0 };
            partition.folder().display().to_string()
        };
        assert_eq!(of(Some("web-1.example")), "host=web-1.example/day=1970-01-01");
        assert_eq!(of(Some("../a b\n")), "host=..%2Fa%20b%0A/day=1970-01-01");
        assert_eq!(of(None), "host=__HIVE_DEFAULT_PARTITION__/day=1970-01-01");
        assert_eq!(of(Some("")), of(None));
    }
}
