//! When sampling is on.

use clap::Args;
use recorder::HumanDuration;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;
use std::time::Duration;

/// The options of steering.
#[derive(Clone, Debug, Default, Args)]
pub struct SteeringArguments {
    /// Begins to sample so many milliseconds after the start; -1: when --control says so.
    #[arg(short = 'D', long, value_name = "MS", help_heading = STEERING)]
    #[arg(allow_negative_numbers = true)]
    pub delay: Option<String>,
    /// Takes commands there, a line each, and answers `ack`, as `perf record` does: enable, disable,
    /// ping, stop, evlist. N and M are descriptors that are open already; FILE and ACKS are FIFOs.
    #[arg(long, value_name = "fd:N[,M]|fifo:FILE[,ACKS]", help_heading = STEERING)]
    pub control: Option<OsString>,
    /// Ends sampling so long after the start, such as 500ms, 30s or 10m; the program runs on.
    #[arg(long, value_name = "TIME", help_heading = STEERING)]
    pub until: Option<String>,
}

const STEERING: &str = "Steering";

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Steering {
    pub begin: Beginning,
    /// It ends so long after the start.
    pub until: Option<Duration>,
    pub control: Option<ControlPlace>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Beginning {
    /// With the target, or with the attach to it.
    #[default]
    AtOnce,
    After(Duration),
    /// When a command says so.
    WhenTold,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ControlPlace {
    /// Descriptors that whoever started us has left open.
    Descriptors {
        commands: i32,
        answers: Option<i32>,
    },
    Fifos {
        commands: PathBuf,
        answers: Option<PathBuf>,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SteeringUsageError {
    #[error(
        "--delay {0:?} is no number of milliseconds (0 to 2147483647), nor -1, which waits for `enable` \
         by --control"
    )]
    Delay(String),
    #[error(
        "--delay -1 waits for `enable`, and nobody could say it: add --control fd:N or --control \
         fifo:FILE"
    )]
    ToldByNobody,
    #[error("--until {0:?} is no span of time above 0, such as 500ms, 30s, 10m or 2h")]
    Until(String),
    #[error(
        "--until {until:?} ends sampling before --delay {delay} begins it: both are from the start"
    )]
    Nothing {
        /// As given.
        delay: String,
        until: String,
    },
    #[error(
        "--control {0:?} is neither fd:N nor fifo:FILE; answers go to a second one: fd:N,M or \
         fifo:FILE,ACKS"
    )]
    Control(OsString),
    #[error(
        "--control {place:?}: {number:?} is no number of an open file, such as 10 after `exec 10<>FIFO`"
    )]
    Descriptor {
        place: OsString,
        /// The part of it.
        number: String,
    },
}

impl Steering {
    pub(crate) fn new(arguments: &SteeringArguments) -> Result<Steering, SteeringUsageError> {
        let begin = arguments.delay.as_deref().map(beginning).transpose()?.unwrap_or_default();
        let until = arguments.until.as_deref().map(until).transpose()?;
        let control = arguments.control.as_deref().map(control).transpose()?;
        if begin == Beginning::WhenTold && control.is_none() {
            return Err(SteeringUsageError::ToldByNobody);
        }
        if let (Beginning::After(delay), Some(end)) = (begin, until)
            && end <= delay
        {
            let word = |word: &Option<String>| word.clone().unwrap_or_default();
            return Err(SteeringUsageError::Nothing {
                delay: word(&arguments.delay),
                until: word(&arguments.until),
            });
        }
        Ok(Steering { begin, until, control })
    }

    /// Whether there may be times without sampling.
    pub fn may_pause(&self) -> bool {
        self.begin != Beginning::AtOnce || self.control.is_some()
    }
}

fn beginning(text: &str) -> Result<Beginning, SteeringUsageError> {
    match text.parse::<i32>() {
        Ok(-1) => Ok(Beginning::WhenTold),
        Ok(0) => Ok(Beginning::AtOnce),
        Ok(number) => u64::try_from(number)
            .map(|milliseconds| Beginning::After(Duration::from_millis(milliseconds)))
            .map_err(|_| SteeringUsageError::Delay(text.to_owned())),
        Err(_) => Err(SteeringUsageError::Delay(text.to_owned())),
    }
}

fn until(text: &str) -> Result<Duration, SteeringUsageError> {
    let span = match text.strip_suffix("ms") {
        Some(number) => number.parse().ok().map(Duration::from_millis),
        None => text.parse::<HumanDuration>().ok().map(|span| span.0),
    };
    span.filter(|span| !span.is_zero()).ok_or_else(|| SteeringUsageError::Until(text.to_owned()))
}

fn control(place: &OsStr) -> Result<ControlPlace, SteeringUsageError> {
    let none = || SteeringUsageError::Control(place.to_owned());
    let bytes = place.as_bytes();
    if let Some(rest) = bytes.strip_prefix(b"fd:") {
        let (commands, answers) = halves(rest);
        let number = |word: &[u8]| {
            let word = String::from_utf8_lossy(word).into_owned();
            match word.parse::<i32>() {
                Ok(number) if number >= 0 => Ok(number),
                _ => Err(SteeringUsageError::Descriptor { place: place.to_owned(), number: word }),
            }
        };
        let answers = answers.map(number).transpose()?;
        return Ok(ControlPlace::Descriptors { commands: number(commands)?, answers });
    }
    let (commands, answers) = halves(bytes.strip_prefix(b"fifo:").ok_or_else(none)?);
    let path = |name: &[u8]| PathBuf::from(OsString::from_vec(name.to_vec()));
    match commands.is_empty() {
        true => Err(none()),
        // As perf has it, nothing behind the comma is no place.
        false => Ok(ControlPlace::Fifos {
            commands: path(commands),
            answers: answers.filter(|name| !name.is_empty()).map(path),
        }),
    }
}

/// What stands before the first comma, and behind it.
fn halves(bytes: &[u8]) -> (&[u8], Option<&[u8]>) {
    match bytes.iter().position(|&byte| byte == b',') {
        Some(at) => (&bytes[..at], Some(&bytes[at + 1..])),
        None => (bytes, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meaning(delay: &str, control: &str, until: &str) -> Result<Steering, String> {
        let given = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let arguments = SteeringArguments {
            delay: given(delay),
            control: given(control).map(Into::into),
            until: given(until),
        };
        Steering::new(&arguments).map_err(|misuse| misuse.to_string())
    }

    #[test]
    fn words_say_when_sampling_is_on() {
        let millis = Duration::from_millis;
        assert_eq!(meaning("", "", ""), Ok(Steering::default()));
        assert_eq!(meaning("0", "", "").map(|steering| steering.may_pause()), Ok(false));
        assert_eq!(meaning("250", "", "").map(|it| it.begin), Ok(Beginning::After(millis(250))));
        assert_eq!(meaning("-1", "fd:9", "").map(|it| it.begin), Ok(Beginning::WhenTold));
        for (text, span) in [("500ms", millis(500)), ("2s", millis(2000)), ("3m", millis(180_000))]
        {
            assert_eq!(meaning("", "", text).map(|it| it.until), Ok(Some(span)), "{text}");
        }
    }

    #[test]
    fn a_place_has_one_or_two_parts() {
        let descriptors = |commands, answers| ControlPlace::Descriptors { commands, answers };
        let fifos = |commands: &str, answers: Option<&str>| ControlPlace::Fifos {
            commands: commands.into(),
            answers: answers.map(Into::into),
        };
        for (text, place) in [
            ("fd:10", descriptors(10, None)),
            ("fd:0,1", descriptors(0, Some(1))),
            ("fifo:/tmp/a b", fifos("/tmp/a b", None)),
            ("fifo:a,", fifos("a", None)),
            ("fifo:a,b", fifos("a", Some("b"))),
        ] {
            assert_eq!(meaning("", text, "").map(|it| it.control), Ok(Some(place)), "{text}");
        }
    }

    #[test]
    fn what_means_nothing_is_quoted() {
        for (delay, control, until, quoted) in [
            ("-2", "", "", "\"-2\""),
            ("1.5", "", "", "\"1.5\""),
            ("99999999999", "", "", "\"99999999999\""),
            ("-1", "", "", "--control fd:N"),
            ("", "fd:", "", "\"\" is no number"),
            ("", "fd:3,", "", "\"\" is no number"),
            ("", "fd:-1", "", "\"-1\""),
            ("", "fd:3,x", "", "\"x\""),
            ("", "fifo:", "", "\"fifo:\""),
            ("", "/tmp/fifo", "", "\"/tmp/fifo\""),
            ("", "", "0s", "\"0s\""),
            ("", "", "10", "\"10\""),
            ("", "", "-5ms", "\"-5ms\""),
            ("2000", "", "2s", "\"2s\" ends sampling before --delay 2000"),
        ] {
            let complaint = meaning(delay, control, until).unwrap_err();
            assert!(complaint.contains(quoted), "{complaint}");
        }
    }
}
