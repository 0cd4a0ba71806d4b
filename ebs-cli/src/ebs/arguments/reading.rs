//! Options of the subcommands that read recordings.

use super::annotating::percent;
use super::watching::DAEMON;
use crate::terminal::number;
use crate::terminal::style::style;
use analysis::table::Style;
use clap::Args;
use perfdata::InstructionClass;
use recorder::Span;
use std::path::PathBuf;

/// Where names of kernel routines and files come from.
#[derive(Clone, Debug, Default, Args)]
pub struct SymbolArguments {
    /// System.map, saved kallsyms or vmlinux of the recorded kernel [default: what the recording
    /// keeps, else the running kernel's, when it is the recorded one].
    #[arg(short, long, visible_alias = "kallsyms", value_name = "SYSTEM_MAP")]
    #[arg(help_heading = "Symbols")]
    pub system_map: Option<PathBuf>,
    /// vmlinux of the recorded kernel, for source lines and inlined calls, and for symbols where -s
    /// names none [default: looked for at the usual places, by build id].
    #[arg(long, value_name = "FILE", help_heading = "Symbols")]
    pub vmlinux: Option<PathBuf>,
    /// Directory that stands for / when object files are opened.
    #[arg(long, value_name = "DIR", default_value = "/", help_heading = "Symbols")]
    pub root: PathBuf,
    /// Directory below which object files, their debug files and maps of generated code are, and
    /// nowhere else: copies of another machine's, as for perf.
    #[arg(long, value_name = "DIR", help_heading = "Symbols")]
    pub symfs: Option<PathBuf>,
}

/// How much of a table is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Args)]
pub struct TableArguments {
    /// Lets rows be as long as they are on a terminal, too, where routines and objects lose their
    /// middle otherwise.
    #[arg(long)]
    pub wide: bool,
    /// Lists every reason why records have no name, not only the three commonest.
    #[arg(long)]
    pub reasons: bool,
}

impl TableArguments {
    /// The same for stdout as it is.
    pub fn style(self) -> Style {
        Style { reasons: self.reasons, ..style(self.wide) }
    }
}

/// What the daemon recorded, in place of a file.
#[derive(Clone, Debug, Default, Args)]
pub struct StandingArguments {
    /// Reads what the daemon recorded of a standing session instead; `ebs sessions` lists them.
    #[arg(id = "standing", long = "daemon", value_name = "NAME", help_heading = DAEMON)]
    #[arg(conflicts_with = "file")]
    pub standing: Option<String>,
    /// From so long ago on, such as 90s, 10m, 12h, 7d [default: all that is kept].
    #[arg(long, value_name = "SPAN", help_heading = DAEMON, requires = "standing")]
    pub since: Option<Span>,
    /// Where the daemon listens [default: /run/ebsd.sock].
    #[arg(long, value_name = "PATH", help_heading = DAEMON, requires = "standing")]
    pub socket: Option<PathBuf>,
}

/// `ebs report`.
#[derive(Clone, Debug, Default, Args)]
pub struct ReportArguments {
    /// Recording: what `ebs -o FILE.data` or `perf record` wrote; `-` is stdin.
    #[arg(required_unless_present = "standing")]
    pub file: Option<PathBuf>,
    /// What the daemon keeps.
    #[command(flatten)]
    pub standing: StandingArguments,
    /// Keys of a row: site, ip, routine, inlined, srcline, routine-line, operands, caller, callee, stack,
    /// object, comm, pid, tid, cpu, addr, line, page, data, variable, type, member, alloc, alloc-line,
    /// block, holder, level, op, tlb, snoop, lock, blk, time:SPAN (time:100ms), reg:NAME [default: site,
    /// which is address, routine and object].
    #[arg(short, long, value_name = "KEY,...", value_delimiter = ',')]
    pub by: Vec<String>,
    /// Tells what was inlined: the key routine becomes inlined, OUTER <- INNER.
    #[arg(long)]
    pub inline: bool,
    /// Order of the rows: share, count, address, name, a key of --by, or with --mem cycles or
    /// latency [default: share].
    #[arg(long, value_name = "ORDER")]
    pub sort: Option<String>,
    /// Who called this routine (or any of an object): counts only records with such a frame on their
    /// call chain, and looks at the chain from the innermost such frame outwards [--by caller,
    /// unless something else is asked for].
    #[arg(long, value_name = "GLOB", conflicts_with = "regs")]
    pub callers: Option<String>,
    /// What this routine (or any of an object) called: counts only records with such a frame on
    /// their call chain, and looks at the chain from the outermost such frame inwards [--by callee,
    /// unless something else is asked for].
    #[arg(long, value_name = "GLOB", conflicts_with = "regs")]
    pub callees: Option<String>,
    /// Whose instruction a row is: the first on the call chain that is in none of these routines or
    /// objects, such as libc.so*,ld-linux*,std::*.
    #[arg(long, value_name = "GLOB,...", value_delimiter = ',', conflicts_with = "regs")]
    pub outside: Vec<String>,
    /// Counts only records that match: routine=GLOB, object!=GLOB, frame=GLOB, comm=GLOB, variable=GLOB, pid=N,
    /// tid=N, cpu=N, addr=FROM-TO, ip=FROM-TO, mode=kernel, level=L3, op=load, tlb=*miss*,
    /// snoop=hitm, lock=locked, blk=GLOB, weight=FROM-TO. Several must all match.
    #[arg(short, long, value_name = "KEY=VALUE")]
    pub filter: Vec<String>,
    /// Counts only records of a part of the run: seconds from its first record on, or percent, such
    /// as 1.5-3, 10%-20%, 2-.
    #[arg(long, value_name = "FROM-TO", allow_hyphen_values = true)]
    pub time: Option<String>,
    /// Counts only records of instructions of this class: packed_sp, packed_dp, scalar_sp,
    /// scalar_dp, mmx64, mmx128, x87, x87_simd_moves, reads_memory, writes_memory,
    /// accesses_memory, split_load.
    #[arg(long, value_name = "CLASS")]
    pub class: Option<InstructionClass>,
    /// Looks only at events whose names match.
    #[arg(short, long, value_name = "GLOB")]
    pub event: Option<String>,
    /// Rows to print [default: 20 on a table, all otherwise].
    #[arg(long, value_name = "N", value_parser = number::<usize>)]
    pub top: Option<usize>,
    /// One table of all events: a row a site (or --by), a column an event, each count per one of
    /// another event too.
    #[arg(long, conflicts_with_all = ["csv", "mem", "regs"])]
    pub join: bool,
    /// The event that --join tells the others per [default: instr_retired, else the first].
    #[arg(long, value_name = "GLOB", requires = "join")]
    pub per: Option<String>,
    /// Rows that are counted apart, some 50 bytes of memory a key and row; of more, those with the
    /// least records are counted together, and the table says so [default: 917504].
    #[arg(long, value_name = "N", value_parser = number::<usize>)]
    pub most_rows: Option<usize>,
    /// Prints JSON.
    #[arg(long, conflicts_with = "csv")]
    pub json: bool,
    /// Prints comma-separated values.
    #[arg(long)]
    pub csv: bool,
    /// Prints call chains with their counts, one a line, for flame graphs: COMM;main;parse;memcpy 12.
    #[arg(long, conflicts_with_all = ["csv", "json", "join", "by", "regs"])]
    pub folded: bool,
    /// Inclusive counts: a row a routine, with all records that it is on the call chain of, each
    /// once, and beside them (self) those taken in the routine itself.
    #[arg(long, conflicts_with_all = ["by", "folded", "join", "regs", "tree", "inline"])]
    pub children: bool,
    /// A tree of call chains, from the outermost routine down to what it called, or from the sampled
    /// routine on to its callers.
    #[arg(long, value_name = "DIRECTION", value_enum, num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "callees")]
    #[arg(conflicts_with_all = ["by", "csv", "folded", "inline", "join", "mem", "regs", "sort", "top"])]
    pub tree: Option<TreeDirection>,
    /// Tells branches of --tree with a smaller part of the records together [default: 1; JSON: 0].
    #[arg(long, value_name = "PERCENT", value_parser = percent, requires = "tree")]
    pub min_percent: Option<f64>,
    /// Instruction to look at with --regs: an address, a routine, or ROUTINE+OFFSET.
    #[arg(long, value_name = "ADDR_OR_ROUTINE", requires = "regs")]
    pub site: Option<String>,
    /// Prints what each register held, at the site or in all records, instead of rows; with --by
    /// beside them.
    #[arg(long)]
    pub regs: bool,
    /// Prints what served the accesses to memory (level, operation, TLB, snoop) and their
    /// latencies, of all records and of each row.
    #[arg(long)]
    pub mem: bool,
    /// Draws behind the tables how many records fall into each set of the first data cache, and how
    /// many have which latency, by powers of two. Lines are as long as the terminal's, else 80.
    #[arg(long, value_name = "GLYPHS", value_enum, num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "auto")]
    #[arg(conflicts_with_all = ["csv", "json", "folded", "join", "regs"])]
    pub plot: Option<PlotForm>,
    /// How much of it is shown.
    #[command(flatten)]
    pub table: TableArguments,
    /// Bytes of a cache line, for --by line and --plot [default: as the recorded machine had].
    #[arg(long, value_name = "BYTES", value_parser = number::<u64>)]
    pub line_size: Option<u64>,
    /// Where names come from.
    #[command(flatten)]
    pub symbols: SymbolArguments,
}

/// What bars of --plot are made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum PlotForm {
    /// Blocks where the locale is UTF-8, else ASCII.
    #[default]
    Auto,
    /// Unicode's blocks, by eighths.
    Blocks,
    /// `#` alone.
    Ascii,
}

/// Where a tree of call chains begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum TreeDirection {
    /// At the outermost routine.
    #[default]
    Callees,
    /// At the sampled routine.
    Callers,
}

/// `ebs script`.
#[derive(Clone, Debug, Args)]
pub struct ScriptArguments {
    /// Recording: what `ebs -o FILE.data` or `perf record` wrote; `-` is stdin.
    pub file: PathBuf,
    /// Fields of a line, as `perf script -F` names them; +FIELD and -FIELD change the usual ones.
    #[arg(
        short = 'F',
        long,
        value_name = "FIELD,...",
        value_delimiter = ',',
        allow_hyphen_values = true
    )]
    pub fields: Vec<String>,
    /// Prints the instruction pointer only, where a call chain was recorded too.
    #[arg(short = 'G', long)]
    pub hide_call_graph: bool,
    /// Frames of a call chain to print at most.
    #[arg(long, value_name = "N", value_parser = number::<usize>, default_value = "127")]
    pub max_stack: usize,
    /// Prints also the records of virtual machines that the recorded one hosts.
    #[arg(long)]
    pub guest: bool,
    /// Prints only records of instructions of this class; see `ebs report --help`.
    #[arg(long, value_name = "CLASS", conflicts_with = "all_samples")]
    pub class: Option<InstructionClass>,
    /// Prints also the records that the event's type does not mean.
    #[arg(long)]
    pub all_samples: bool,
    /// Form of the lines.
    #[arg(long, value_enum, default_value_t = ScriptFormat::Perf)]
    pub format: ScriptFormat,
    /// Where names come from.
    #[command(flatten)]
    pub symbols: SymbolArguments,
}

/// Form of the lines of `ebs script`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum ScriptFormat {
    /// As `perf script` prints them.
    #[default]
    Perf,
    /// As `ebs -o FILE` writes them: instruction pointer in column 2.
    #[value(alias = "hardmeter")]
    Text,
}

/// `ebs html`.
#[derive(Clone, Debug, Default, Args)]
pub struct HtmlArguments {
    /// Recording: what `ebs -o FILE.data` or `perf record` wrote; `-` is stdin.
    #[arg(required_unless_present = "standing")]
    pub file: Option<PathBuf>,
    /// Where to write the page; `-` is stdout.
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// What the daemon keeps.
    #[command(flatten)]
    pub standing: StandingArguments,
    /// Looks only at events whose names match.
    #[arg(short, long, value_name = "GLOB")]
    pub event: Option<String>,
    /// Counts only records that match; see `ebs report --help`.
    #[arg(short, long, value_name = "KEY=VALUE")]
    pub filter: Vec<String>,
    /// Where names come from.
    #[command(flatten)]
    pub symbols: SymbolArguments,
}
