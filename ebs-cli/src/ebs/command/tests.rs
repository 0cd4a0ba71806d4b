//! The grammar itself, and the help a user sees.

use super::{Sampling, Subcommands, command};
use clap::CommandFactory;

/// The long help on a screen of 100 columns, whatever the tests run in.
fn help(mut command: clap::Command) -> String {
    command.build();
    command.term_width(100).render_long_help().to_string()
}

fn help_of(subcommand: &str) -> String {
    let mut all = Subcommands::command().term_width(100);
    all.build();
    help(all.find_subcommand(subcommand).expect("is a subcommand").clone())
}

#[test]
fn the_grammar_is_consistent() {
    command().debug_assert();
    Sampling::command().debug_assert();
    Subcommands::command().debug_assert();
}

#[test]
fn the_full_help_reads_well() {
    insta::assert_snapshot!(help(Sampling::command()));
}

#[test]
fn the_help_of_report_reads_well() {
    insta::assert_snapshot!(help_of("report"));
}

#[test]
fn the_help_of_script_reads_well() {
    insta::assert_snapshot!(help_of("script"));
}

#[test]
fn the_help_of_convert_reads_well() {
    insta::assert_snapshot!(help_of("convert"));
}

#[test]
fn the_help_of_stat_reads_well() {
    insta::assert_snapshot!(help_of("stat"));
}

#[test]
fn the_help_of_memlat_reads_well() {
    insta::assert_snapshot!(help_of("memlat"));
}
