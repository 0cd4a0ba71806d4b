//! Without `--count`: an answer to each line of input.

use super::answers::Answers;
use super::arguments::Arguments;
use super::input::Input;
use super::line::{BadLines, Line};
use super::output::Output;
use super::shown_frames::{Style, write_bad, write_comment};
use anyhow::Context;
use std::fs::File;
use std::io::{self, Write};

pub(super) fn print(
    mut input: Input<&File>,
    output: &mut Output,
    mut answers: Answers,
    arguments: &Arguments,
) -> anyhow::Result<BadLines> {
    let style = Style::of(arguments);
    let mut bad = BadLines::default();
    while input.next_batch().context("cannot read the input")? {
        // Each unit of debug info is read once for all of them.
        if let Answers::Lines(answers) = &mut answers {
            answers.learn(input.lines().filter_map(|line| line.address()).collect());
        }
        for line in input.lines() {
            bad.count(&line);
            write(&line, output, &mut answers, style).context("cannot write the output")?;
        }
        output.flush().context("cannot write the output")?;
    }
    answers.report();
    Ok(bad)
}

fn write(
    line: &Line<'_>,
    output: &mut Output,
    answers: &mut Answers,
    style: Style,
) -> io::Result<()> {
    match line {
        Line::Address(address) => answers.write(*address, output),
        Line::Comment(line) => write_comment(output, line, style),
        Line::Heading => Ok(()),
        Line::Bad(line) => write_bad(output, line, style),
    }
}
