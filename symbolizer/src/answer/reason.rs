//! Why an address has no name.

/// Why an address has no name. Its text says what to do where something can
/// be done; [`Reason::tag`] is the short form for a table's cell.
#[derive(Clone, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Reason {
    #[error(
        "the kernel hides its addresses from this user: be root, or give CAP_SYSLOG, or set kernel.kptr_restrict=0 and kernel.perf_event_paranoid to at most 1 with sysctl"
    )]
    KernelHidden,
    #[error("no kernel symbols: {why}")]
    KernelUnlisted { why: String },
    #[error(
        "recorded under another boot: {symbol} was at {recorded:#x}, here it is at {here:#x}; give that kernel's System.map"
    )]
    KernelOtherBoot { symbol: String, recorded: u64, here: u64 },
    #[error("recorded under kernel {recorded}, {}; give that kernel's System.map", shown(here))]
    KernelOtherRelease { recorded: String, here: String },
    #[error(
        "the kernel's list names no variables (no CONFIG_KALLSYMS_ALL, or recorded without -d); give the System.map of its build"
    )]
    KernelVariablesUnlisted,
    #[error("{why}")]
    KernelOtherList { why: String },
    #[error(
        "where the recorded kernel lay is not known: {why}; record as root, or with kernel.kptr_restrict=0"
    )]
    KernelUnplaced { why: String },
    #[error("no symbol of {object} holds this address")]
    BetweenSymbols { object: String },
    #[error("beyond the first or last symbol of {object}")]
    BeyondSymbols { object: String },
    #[error("not mapped at that time")]
    NotMapped,
    #[error("no mappings of this process are known")]
    UnknownProcess,
    #[error("more mappings and forks than are kept, of this process or of all")]
    TooManyMappings,
    #[error("no recorded mapping holds this data address{}", advice(*has_data))]
    DataNotMapped { has_data: bool },
    #[error("{name} has no named variables")]
    NoVariables { name: String },
    #[error("{name}: anonymous executable memory that no /tmp/perf-PID.map and no jitdump names")]
    Anonymous { name: String },
    #[error("{file} is not used for generated code: {why}")]
    Generated { file: String, why: String },
    #[error("no symbols in {file}")]
    NoSymbols { file: String },
    #[error(
        "{file} is stripped ({id}): its own routines have no names here; install its debug symbols (Debian: PACKAGE-dbgsym)"
    )]
    Stripped { file: String, id: String },
    #[error(
        "{file} is not there (any more); if a copy of it lies below another directory (a container, a chroot, files of another machine), name that with --symfs"
    )]
    FileGone { file: String },
    #[error("cannot read {file}: {why}")]
    FileUnreadable { file: String, why: String },
    #[error("{file} is not a sound ELF file: {why}")]
    NotElf { file: String, why: String },
    #[error("{file}: build id differs: {recorded} was mapped, {found} is there now")]
    BuildIdDiffers { file: String, recorded: String, found: String },
    #[error("{file} was replaced: inode {recorded} was mapped, inode {found} is there now")]
    FileReplaced { file: String, recorded: u64, found: u64 },
    #[error("the vdso of the recorded kernel is not at hand: {why}")]
    Vdso { why: String },
    #[error("the address belongs to a guest")]
    Guest,
    #[error("the address belongs to the hypervisor")]
    Hypervisor,
    #[error("the record does not say whether the address is the kernel's or a user's")]
    UnknownMode,
}

impl Reason {
    /// Whether a file that was mapped could not be had, or is another.
    pub fn is_of_a_file(&self) -> bool {
        matches!(
            self,
            Reason::FileGone { .. }
                | Reason::FileUnreadable { .. }
                | Reason::FileReplaced { .. }
                | Reason::BuildIdDiffers { .. }
                | Reason::NotElf { .. }
        )
    }

    /// One word in brackets, without blanks, so that columns stay columns.
    pub fn tag(&self) -> &'static str {
        match self {
            Reason::KernelHidden => "[kernel-hidden]",
            Reason::KernelUnlisted { .. } | Reason::KernelVariablesUnlisted => {
                "[no-kernel-symbols]"
            }
            Reason::KernelOtherBoot { .. }
            | Reason::KernelOtherRelease { .. }
            | Reason::KernelOtherList { .. } => "[other-kernel]",
            Reason::KernelUnplaced { .. } => "[kernel-unplaced]",
            Reason::BetweenSymbols { .. } => "[between-symbols]",
            Reason::BeyondSymbols { .. } => "[beyond-symbols]",
            Reason::NotMapped => "[not-mapped]",
            Reason::UnknownProcess => "[unknown-process]",
            Reason::TooManyMappings => "[too-many-mappings]",
            Reason::DataNotMapped { .. } => "[not-mapped]",
            Reason::NoVariables { .. } => "[no-variables]",
            Reason::Anonymous { .. } => "[anonymous]",
            Reason::Generated { .. } => "[jit-refused]",
            Reason::NoSymbols { .. } => "[no-symbols]",
            Reason::Stripped { .. } => "[stripped]",
            Reason::FileGone { .. } => "[file-gone]",
            Reason::FileUnreadable { .. } => "[file-unreadable]",
            Reason::NotElf { .. } => "[not-elf]",
            Reason::BuildIdDiffers { .. } => "[build-id-differs]",
            Reason::FileReplaced { .. } => "[file-replaced]",
            Reason::Vdso { .. } => "[vdso-unknown]",
            Reason::Guest => "[guest]",
            Reason::Hypervisor => "[hypervisor]",
            Reason::UnknownMode => "[unknown-mode]",
        }
    }
}

impl Reason {
    /// The file or memory that it is about; None: of none in particular.
    pub fn subject(&self) -> Option<&str> {
        match self {
            Reason::BetweenSymbols { object } | Reason::BeyondSymbols { object } => Some(object),
            Reason::NoVariables { name } | Reason::Anonymous { name } => Some(name),
            Reason::Generated { file, .. }
            | Reason::NoSymbols { file }
            | Reason::Stripped { file, .. }
            | Reason::FileGone { file }
            | Reason::FileUnreadable { file, .. }
            | Reason::NotElf { file, .. }
            | Reason::BuildIdDiffers { file, .. }
            | Reason::FileReplaced { file, .. } => Some(file),
            _ => None,
        }
    }
}

fn shown(here: &str) -> String {
    match here {
        "" => "the running kernel's release is not known (no proc/sys/kernel/osrelease)".to_owned(),
        here => format!("this is {here}"),
    }
}

/// What to type for mappings of data.
fn advice(has_data: bool) -> &'static str {
    match has_data {
        true => "",
        false => ": record with -d (ebs -d, perf record -d)",
    }
}
