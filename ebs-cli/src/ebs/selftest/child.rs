//! The process that is sampled: `ebs selftest-program`. It says what is true
//! of it, waits for the go, runs, says that it has, waits again, says how long
//! it took, and ends. Between the two waits there is next to nothing but its
//! loop, so that samples of that time are of the loop or wrong.

use super::program::{Extent, Program};
use super::truth::{Done, Truth};
use crate::ebs::exit_status::SUCCESS;
use crate::ebs::sys::inherited;
use anyhow::{Context, Result, ensure};
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::RawFd;
use std::time::Instant;

/// The word that makes a process of `ebs` such a program. It is looked for
/// before the command line is parsed, which would be sampled, too.
pub(super) const WORD: &str = "selftest-program";

/// Said when the loop has ended.
pub(super) const RAN: &[u8] = b"\"ran\"\n";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) program: Program,
    pub(super) extent: Extent,
    /// Where to say what.
    pub(super) tell: RawFd,
    /// Where the go comes from.
    pub(super) go: RawFd,
    /// CPUs for two threads, or to move between.
    pub(super) cpus: Option<[usize; 2]>,
}

impl Part {
    /// The words, without the program's own name.
    pub(super) fn words(&self) -> Vec<String> {
        let Part { program, extent: Extent { elements, passes }, tell, go, cpus } = self;
        let mut words = vec![WORD.to_owned(), program.to_string()];
        words.extend([elements, passes].map(ToString::to_string));
        words.extend([tell, go].map(ToString::to_string));
        words.extend(cpus.iter().flatten().map(ToString::to_string));
        words
    }

    fn parse(words: &[String]) -> Result<Part> {
        ensure!(
            words.len() == 5 || words.len() == 7,
            "{WORD} is run by `ebs selftest`, which knows its arguments: run that"
        );
        let number = |place: usize| -> Result<u64> {
            let word = words.get(place).map_or("", String::as_str);
            word.parse().with_context(|| format!("{WORD}: {word:?} is no number"))
        };
        let cpu = |place| -> Result<usize> { Ok(usize::try_from(number(place)?)?) };
        let descriptor = |place| -> Result<RawFd> { Ok(RawFd::try_from(number(place)?)?) };
        Ok(Part {
            program: words.first().map_or("", String::as_str).parse()?,
            extent: Extent { elements: number(1)?, passes: number(2)? },
            tell: descriptor(3)?,
            go: descriptor(4)?,
            cpus: match words.len() {
                7 => Some([cpu(5)?, cpu(6)?]),
                _ => None,
            },
        })
    }
}

/// Plays the part.
///
/// # Errors
/// Words that say none; no memory for it; a parent that has gone.
pub(crate) fn play(words: &[String]) -> Result<u8> {
    let part = Part::parse(words)?;
    let (mut tell, mut go) = (inherited(part.tell), inherited(part.go));
    let mut prepared = prepare(&part)?;
    say(&mut tell, &prepared.truth)?;
    let mut byte = [0];
    // End of file: nobody wants it to run any more.
    if go.read(&mut byte).context("waiting for the go")? == 0 {
        return Ok(SUCCESS);
    }
    let began = Instant::now();
    let run = (prepared.run)();
    let ended = Instant::now();
    tell.write_all(RAN).context("telling the parent")?;
    go.read(&mut byte).context("waiting for the end")?;
    run?;
    let nanoseconds = u64::try_from((ended - began).as_nanos()).unwrap_or(u64::MAX);
    say(&mut tell, &Done { nanoseconds })?;
    Ok(SUCCESS)
}

pub(super) struct Prepared {
    pub(super) truth: Truth,
    pub(super) run: Box<dyn FnMut() -> Result<()>>,
}

#[cfg(target_arch = "x86_64")]
fn prepare(part: &Part) -> Result<Prepared> {
    super::prepared::prepare(part)
}

#[cfg(not(target_arch = "x86_64"))]
fn prepare(_: &Part) -> Result<Prepared> {
    anyhow::bail!("{}", super::NO_LOOPS)
}

/// One line, at once.
fn say(tell: &mut File, what: &impl serde::Serialize) -> Result<()> {
    let mut line = serde_json::to_vec(what)?;
    line.push(b'\n');
    tell.write_all(&line).context("telling the parent")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_what_its_words_say() {
        for cpus in [None, Some([0, 3])] {
            let extent = Extent { elements: 7, passes: 9 };
            let part = Part { program: Program::Chase, extent, tell: 5, go: 6, cpus };
            let words = part.words();
            assert_eq!(words[0], WORD);
            assert_eq!(Part::parse(&words[1..]).expect("its own words"), part);
        }
        for words in [&[][..], &["chase", "1", "1", "x", "4"], &["no", "1", "1", "3", "4"]] {
            let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
            assert!(Part::parse(&words).is_err(), "{words:?}");
        }
    }
}
