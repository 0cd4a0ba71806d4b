//! What the kernel does itself, before anything reaches a ring.

use clap::Args;
use recorder::Span;

/// The options of programs in the kernel.
#[derive(Clone, Debug, Default, Args)]
pub struct InKernelArguments {
    /// Lets a program in the kernel count samples by instruction, and with -g by callers (frame
    /// pointers), so that none is ever moved; or only decide which samples reach the ring. Where
    /// the kernel takes no program, rings serve.
    #[arg(long, value_name = "aggregate|filter", value_enum, help_heading = IN_KERNEL)]
    #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "aggregate")]
    pub in_kernel: Option<InKernelMode>,
    /// Keeps samples with this only: pid=N, tid=N, cgroup=PATH, comm=NAME, ip=A-B, addr=A-B (B not
    /// included), one_in=N, weight=N (N or more), data_src=MASK/VALUE. Several lists of numbers
    /// are joined, different keys must all hold.
    #[arg(long, value_name = "KEY=VALUE", help_heading = IN_KERNEL, requires = "in_kernel")]
    pub keep: Vec<String>,
    /// Sites that there is room for on each CPU, in one interval; a power of two [default: 4096,
    /// fewer where there are more than 28 CPUs].
    #[arg(long, value_name = "N", help_heading = IN_KERNEL, requires = "in_kernel")]
    pub sites: Option<String>,
    /// Counts each process by itself.
    #[arg(long, help_heading = IN_KERNEL, requires = "in_kernel")]
    pub by_process: bool,
    /// Counts the distances between a site's data addresses, too, in powers of two.
    #[arg(long, help_heading = IN_KERNEL, requires = "in_kernel")]
    pub strides: bool,
    /// Takes what was counted out of the kernel so often, such as 10s [default: 60s].
    #[arg(long, value_name = "SPAN", help_heading = IN_KERNEL, requires = "in_kernel")]
    pub every: Option<Span>,
    /// Fails where the kernel takes no program, instead of sampling through rings.
    #[arg(long, help_heading = IN_KERNEL, requires = "in_kernel")]
    pub no_rings: bool,
}

/// What the program does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum InKernelMode {
    /// It counts.
    Aggregate,
    /// It decides which samples reach the ring.
    Filter,
}

const IN_KERNEL: &str = "In the kernel";
