//! The commands of the first page of docs/usage.md are of the grammar.

use ebs_cli::ebs::command::{self, Command};
use ebs_cli::ebs::sample::SampleJob;
use std::ffi::OsString;

/// What stands in backticks in the second column.
fn commands(page: &str) -> Vec<&str> {
    let (_, after) = page.split_once("## You have this problem: type this\n").unwrap();
    let (table, _) = after.split_once("\n## ").unwrap();
    let rows = table.lines().filter(|line| line.starts_with("| ")).skip(1);
    let typed = rows.flat_map(|row| {
        let column = row.trim_end_matches(" |").rsplit(" | ").next().unwrap();
        column.split('`').skip(1).step_by(2)
    });
    typed.collect()
}

/// None: its words mean something.
fn complaint(command: &str) -> Option<String> {
    let words = command.replace("PID", "4711");
    let words: Vec<OsString> = words.split(' ').map(OsString::from).collect();
    let is_help = |error: &clap::Error| error.exit_code() == 0;
    match words[0].to_str() {
        Some("ebs") => match command::parse(words) {
            Ok(Command::Sample(arguments)) if arguments.types.is_none() => {
                SampleJob::new(*arguments).err().map(|error| error.to_string())
            }
            Ok(_) => None,
            Err(error) => (!is_help(&error)).then(|| error.to_string()),
        },
        Some("eip2r") => {
            let parsed = ebs_cli::eip2r::command().try_get_matches_from(words);
            parsed.err().filter(|error| !is_help(error)).map(|error| error.to_string())
        }
        _ => Some("no command of ours".to_owned()),
    }
}

#[test]
fn what_the_first_page_says_to_type_is_understood() {
    let package = std::path::PathBuf::from(std::env::var("CARGO_MANIFEST_DIR").unwrap());
    let page = std::fs::read_to_string(package.join("../docs/usage.md")).unwrap();
    let commands = commands(&page);
    assert!(commands.len() > 20, "{commands:?}");
    for command in commands {
        assert_eq!(complaint(command), None, "`{command}`");
    }
    for wrong in ["ebs -u", "ebs report --nonsense f", "perf record", "eip2r --by x"] {
        assert!(complaint(wrong).is_some(), "{wrong}");
    }
}
