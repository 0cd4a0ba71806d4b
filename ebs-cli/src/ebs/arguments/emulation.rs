//! Who counts, and what is modelled when nobody does.

use clap::Args;
use emulator::ObjectLayout;
use std::ffi::OsString;

/// The emulated PMU's options, for sampling and for plans alike.
#[derive(Clone, Debug, Default, Args)]
pub struct EmulationArguments {
    /// Who counts: the machine's PMU, or the emulated one, a model of caches and TLBs that the
    /// program's own instructions run through; `auto` takes the PMU where there is one.
    #[arg(long, value_name = "auto|pmu|emulated", help_heading = EMULATED)]
    pub source: Option<String>,
    /// Caches and TLBs of the emulated PMU: LEVEL=SIZE,WAYS or LEVEL=off, of the levels l1d, l1i,
    /// l2, l3, dtlb and stlb, such as "l1d=32k,8 l2=off"; :CYCLES behind says what a hit takes, as in
    /// l2=512k,8:13, and memory=, modified=, walk= and blocked= what the rest does; or the name of a
    /// machine, such as skylake [default: this machine's].
    #[arg(long, value_name = "SPEC", help_heading = EMULATED)]
    pub cache: Vec<String>,
    /// Lets the emulated caches prefetch, next lines and strides.
    #[arg(long, help_heading = EMULATED)]
    pub prefetch: bool,
    /// Counts N instructions of every M, at random places; the others run without the model, but for W
    /// before each burst that warm its caches up (as many as the event needs, unless said).
    #[arg(long, value_name = "N/M[+W]", help_heading = EMULATED)]
    pub burst: Option<String>,
    /// Says of each record of a cache miss why it is one, by what fully associative caches would have
    /// had, and other cores took: cold, sharing, conflict, edge or capacity; `ebs report --by miss`
    /// counts by it.
    #[arg(long, value_name = "exact", value_parser = ["exact"], help_heading = EMULATED)]
    pub classify: Option<String>,
    /// Tells blocks of memory that the program allocates and gives back, by their callers, as events
    /// of their own, so that what is sampled is counted by what it is on: `ebs report --by alloc`. The
    /// emulated PMU tells each block, and sees known allocators (malloc, new, Rust's, jemalloc, mimalloc,
    /// tcmalloc) in static programs as well; natively a library is preloaded into COMMAND, and tells one
    /// block each BYTES that malloc and its kin gave, or with 1 every block [default: 512k].
    #[arg(long, value_name = "BYTES", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub heap: Option<String>,
    /// Has the modelled caches see an object of the program in another layout, while the program runs as
    /// it is: CHANGE is rows=STRIDE+BYTES, align=BYTES, colour=STRIDE, split=STRIDE:FROM..TO,
    /// order=STRIDE:FROM..TO/..., pages=2m or apart=BYTES; the object is START+SIZE, as in
    /// rows=2048+64@0x4bb000+512k (setarch -R keeps addresses what they are). May be repeated; `ebs causes --try` finds objects by their names.
    #[arg(long = "layout", value_name = "CHANGE@OBJECT", help_heading = EMULATED)]
    pub layouts: Vec<ObjectLayout>,
}

const EMULATED: &str = "Emulated PMU";

impl EmulationArguments {
    /// The words that say the same to another `ebs`.
    pub(crate) fn words(&self) -> Vec<OsString> {
        let mut words: Vec<OsString> = Vec::new();
        words.extend(self.prefetch.then(|| "--prefetch".into()));
        let mut add = |option: &str, value: &str| words.extend([option.into(), value.into()]);
        self.source.iter().for_each(|it| add("--source", it));
        self.cache.iter().for_each(|it| add("--cache", it));
        self.burst.iter().for_each(|it| add("--burst", it));
        self.classify.iter().for_each(|it| add("--classify", it));
        self.layouts.iter().for_each(|it| add("--layout", &it.to_string()));
        // A value behind a space would be the command.
        words.extend(self.heap.iter().map(|it| match it.as_str() {
            "" => "--heap".into(),
            bytes => format!("--heap={bytes}").into(),
        }));
        words
    }
}
