//! What `ebs` samples: the original's options, and a long name for each.

use crate::ebs::arguments::{
    EmulationArguments, EventArguments, InKernelArguments, ServingArguments, SteeringArguments,
    TableArguments,
};
use crate::terminal::number;
use clap::Args;
use std::ffi::OsString;
use std::path::PathBuf;

/// The original's options, and a long name for each.
#[derive(Clone, Debug, Default, Args)]
pub struct SampleArguments {
    /// Lists the event types of this machine, or describes one.
    #[arg(short = 'h', value_name = "TYPE", num_args = 0..=1, help_heading = "Help")]
    pub types: Option<Option<String>>,
    /// Prints all of this help.
    #[arg(long, action = clap::ArgAction::HelpLong, help_heading = "Help")]
    pub help: Option<bool>,
    /// Samples user code.
    #[arg(short, long)]
    pub user: bool,
    /// Samples kernel code.
    #[arg(short, long)]
    pub kernel: bool,
    /// The event.
    #[command(flatten)]
    pub event: EventArguments,
    /// Who counts.
    #[command(flatten)]
    pub emulation: EmulationArguments,
    /// Who opens the events.
    #[command(flatten)]
    pub serving: ServingArguments,
    /// What the kernel does itself.
    #[command(flatten)]
    pub in_kernel: InKernelArguments,
    /// When sampling is on.
    #[command(flatten)]
    pub steering: SteeringArguments,
    /// Records where the heap, stacks and files lie, too, for reports --by variable or data.
    #[arg(short, long)]
    pub data: bool,
    /// Records which regions that the program names its threads are in, for reports --by region: it
    /// is linked with libhardmeter, or that is preloaded. Emulated, regions are always recorded.
    #[arg(long)]
    pub regions: bool,
    /// Keeps the kernel's symbols out of the stream that -o FILE.data writes, where they name the
    /// kernel's addresses on other boots and machines.
    #[arg(long)]
    pub no_kallsyms: bool,
    /// Keeps out of FILE.data the programs that names come from: those of containers, deleted ones,
    /// and those that lie where no package puts any.
    #[arg(long)]
    pub no_files: bool,
    /// Keeps copied stacks in FILE.data as they are, some 18 times as large at 8 KiB, where frames
    /// would take their place: for readers with other unwind tables than there are here.
    #[arg(long)]
    pub keep_stacks: bool,
    /// Stops sampling after so many records, such as 50k; `all` never does [default: 2000 of text
    /// records, all of tables and streams].
    #[arg(short, long, value_name = "COUNT", allow_negative_numbers = true)]
    pub count: Option<String>,
    /// Writes records instead of a table: text, or the perf.data stream when the name ends in
    /// .data; `-` is stdout.
    #[arg(short, long, value_name = "OUTFILE")]
    pub output: Option<PathBuf>,
    /// Form of the records, whatever the name of OUTFILE; without -o they go to stdout.
    #[arg(long, value_enum)]
    pub format: Option<Format>,
    /// Writes a page of HTML when sampling has ended, as `ebs html` does: instead of the table, or
    /// with -o FILE.data besides.
    #[arg(long, value_name = "PAGE")]
    pub html: Option<PathBuf>,
    /// Prints no notice and no last line.
    #[arg(short, long)]
    pub quiet: bool,
    /// Rows of the table.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = number::<usize>)]
    pub top: usize,
    /// How much of it is shown.
    #[command(flatten)]
    pub table: TableArguments,
    /// Ring buffer per CPU, in pages, a power of two [default: as the machine allows].
    #[arg(long, value_name = "PAGES", value_parser = number::<u32>)]
    pub ring: Option<u32>,
    /// Samples this process, as EXE_OR_PID with a number does.
    #[arg(short, long, value_name = "PID", allow_negative_numbers = true)]
    pub pid: Option<String>,
    /// Program to sample with its arguments, or the PID of a process.
    #[arg(value_name = "EXE_OR_PID", trailing_var_arg = true)]
    #[arg(value_hint = clap::ValueHint::CommandWithArguments)]
    pub target: Vec<OsString>,
}

/// How records are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// One record a line, instruction pointer in column 2.
    Text,
    /// The perf.data stream: file form with -o FILE, else pipe form.
    Perf,
}
