//! What the environment says of servers and cache
//! (debuginfod-client-config(7)).

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// Seconds within which a server must send something.
const TIMEOUT: u64 = 90;
/// Seconds for one file when nobody said: waiting has an end.
const MOST_TIME: u64 = 3600;
/// Bytes of one file when nobody said: the debug info of a browser has a
/// quarter of that, and a disk is not filled.
const MOST_BYTES: u64 = 16 << 30;

/// Servers and cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// DEBUGINFOD_URLS: asked in this order.
    pub urls: Vec<String>,
    /// Where fetched files lie.
    pub cache: PathBuf,
    /// DEBUGINFOD_TIMEOUT: a server that sends less than 100 KiB within it is
    /// given up. None: never.
    pub timeout: Option<Duration>,
    /// DEBUGINFOD_MAXTIME: for a whole file. None: any.
    pub most_time: Option<Duration>,
    /// DEBUGINFOD_MAXSIZE, bytes. None: any.
    pub most_bytes: Option<u64>,
}

/// A variable that cannot be followed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    #[error("{name} is `{value}`: a whole number is needed, or unset it")]
    Number { name: &'static str, value: String },
    #[error(
        "DEBUGINFOD_URLS is set, but where fetched files go is not: set DEBUGINFOD_CACHE_PATH or HOME, or unset DEBUGINFOD_URLS"
    )]
    NoCache,
}

impl Settings {
    /// From variables; none without servers.
    pub(super) fn read(
        read: impl Fn(&str) -> Option<OsString>,
    ) -> Result<Option<Settings>, SettingsError> {
        let set = |name| read(name).filter(|value| !value.is_empty());
        let urls = set("DEBUGINFOD_URLS").map(|urls| urls.to_string_lossy().into_owned());
        // `ima:enforcing` and its like, between servers, are about signatures
        // of RPM files; elfutils without them passes the words over, too.
        let words = urls.iter().flat_map(|urls| urls.split_whitespace());
        let urls: Vec<String> =
            words.filter(|word| !word.starts_with("ima:")).map(str::to_owned).collect();
        if urls.is_empty() {
            return Ok(None);
        }
        // Zero and less mean: no bound.
        let bound = |name: &'static str, unsaid: u64| match set(name) {
            None => Ok(Some(unsaid)),
            Some(value) => {
                let value = value.to_string_lossy().into_owned();
                let number = value.trim().parse::<i64>();
                let number = number.map_err(|_| SettingsError::Number { name, value })?;
                Ok(u64::try_from(number).ok().filter(|number| *number > 0))
            }
        };
        Ok(Some(Settings {
            urls,
            cache: cache(&set).ok_or(SettingsError::NoCache)?,
            timeout: bound("DEBUGINFOD_TIMEOUT", TIMEOUT)?.map(Duration::from_secs),
            most_time: bound("DEBUGINFOD_MAXTIME", MOST_TIME)?.map(Duration::from_secs),
            most_bytes: bound("DEBUGINFOD_MAXSIZE", MOST_BYTES)?,
        }))
    }
}

fn cache(set: &impl Fn(&'static str) -> Option<OsString>) -> Option<PathBuf> {
    if let Some(path) = set("DEBUGINFOD_CACHE_PATH") {
        return Some(path.into());
    }
    let home = set("HOME").map(PathBuf::from);
    // Before 2020 it lay there, and is used on where it does.
    let old = home.as_ref().map(|home| home.join(".debuginfod_client_cache"));
    if let Some(old) = old.filter(|old| old.is_dir()) {
        return Some(old);
    }
    let caches = set("XDG_CACHE_HOME").map(PathBuf::from);
    let caches = caches.or_else(|| home.map(|home| home.join(".cache")))?;
    Some(caches.join("debuginfod_client"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> Result<Option<Settings>, SettingsError> {
        Settings::read(|name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| value.into())
        })
    }

    #[test]
    fn nothing_is_asked_unless_servers_are_named() {
        for none in [&[][..], &[("HOME", "/h")], &[("HOME", "/h"), ("DEBUGINFOD_URLS", " ")]] {
            assert_eq!(read(none), Ok(None));
        }
        assert_eq!(read(&[("DEBUGINFOD_URLS", "http://a")]), Err(SettingsError::NoCache));
    }

    #[test]
    fn the_variables_of_the_manual_are_followed() {
        let all = [
            ("DEBUGINFOD_URLS", "ima:enforcing http://a  https://b/x"),
            ("HOME", "/h"),
            ("XDG_CACHE_HOME", "/c"),
            ("DEBUGINFOD_TIMEOUT", "5"),
            ("DEBUGINFOD_MAXTIME", "60"),
            ("DEBUGINFOD_MAXSIZE", "1000"),
        ];
        let settings = read(&all).unwrap().unwrap();
        assert_eq!(settings.urls, ["http://a", "https://b/x"]);
        assert_eq!(settings.cache, PathBuf::from("/c/debuginfod_client"));
        let bounds = (settings.timeout, settings.most_time, settings.most_bytes);
        let seconds = Duration::from_secs;
        assert_eq!(bounds, (Some(seconds(5)), Some(seconds(60)), Some(1000)));

        let few = [("DEBUGINFOD_URLS", "http://a"), ("HOME", "/h"), ("DEBUGINFOD_MAXSIZE", "0")];
        let settings = read(&few).unwrap().unwrap();
        assert_eq!(settings.cache, PathBuf::from("/h/.cache/debuginfod_client"));
        let bounds = (settings.timeout, settings.most_time, settings.most_bytes);
        assert_eq!(bounds, (Some(seconds(90)), Some(seconds(3600)), None));
        let own = [few[0], ("DEBUGINFOD_CACHE_PATH", "/own"), ("DEBUGINFOD_TIMEOUT", "-1")];
        let settings = read(&own).unwrap().unwrap();
        assert_eq!((settings.cache, settings.timeout), (PathBuf::from("/own"), None));
    }

    #[test]
    fn a_variable_that_is_no_number_is_said() {
        let wrong = [("DEBUGINFOD_URLS", "http://a"), ("HOME", "/h"), ("DEBUGINFOD_MAXSIZE", "1G")];
        let error = read(&wrong).unwrap_err().to_string();
        assert!(error.starts_with("DEBUGINFOD_MAXSIZE is `1G`: a whole number"), "{error}");
    }
}
