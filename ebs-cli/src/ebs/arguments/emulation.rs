//! Options of the emulated PMU.

use crate::ebs::arguments::{UsageError, scaled};
use clap::Args;
use emulator::{Burst, Geometry, ObjectLayout};
use recorder::emulated::Model;
use recorder::{HeapSettings, SourceChoice};
use std::ffi::OsString;
use std::path::Path;

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

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EmulationChoice {
    pub source: SourceChoice,
    /// The caches, in `Geometry`'s words; empty: this machine's.
    pub cache: String,
    pub prefetch: bool,
    pub burst: Option<Burst>,
    pub classify: bool,
    /// Blocks of the heap are told; natively one each so many bytes.
    pub heap: Option<u64>,
    pub layouts: Vec<ObjectLayout>,
    /// Nothing was asked for: causes and blocks are recorded where the PMU is emulated, and the
    /// rest allows it.
    pub explains: bool,
}

impl EmulationChoice {
    /// Whoever describes the emulated PMU wants it.
    pub(crate) fn new(arguments: &EmulationArguments) -> Result<EmulationChoice, UsageError> {
        let EmulationArguments { source, cache, prefetch, burst, classify, heap, layouts } =
            arguments;
        let described = [
            (!cache.is_empty(), "--cache"),
            (*prefetch, "--prefetch"),
            (burst.is_some(), "--burst"),
            (classify.is_some(), "--classify"),
            (!layouts.is_empty(), "--layout"),
        ];
        let described = described.into_iter().find(|(given, _)| *given).map(|(_, option)| option);
        let asked = source.as_deref().map(str::parse).transpose();
        let asked = asked.map_err(|unknown| UsageError::Source(format!("{unknown}")))?;
        let source = match (asked, described) {
            (Some(SourceChoice::Pmu), Some(option)) => return Err(UsageError::NotOfPmu(option)),
            (_, Some(_)) => SourceChoice::Emulated,
            (asked, None) => asked.unwrap_or_default(),
        };
        Ok(EmulationChoice {
            source,
            cache: cache.join(" "),
            prefetch: *prefetch,
            burst: burst.as_deref().map(self::burst).transpose()?,
            classify: classify.is_some(),
            heap: heap.as_deref().map(heap_bytes).transpose()?,
            layouts: layouts.clone(),
            explains: false,
        })
    }

    /// The machine that is modelled; `root` holds the real one's `sys`.
    ///
    /// # Errors
    /// `--cache` that describes no caches.
    pub fn model(&self, root: &Path) -> Result<Model, UsageError> {
        let geometry = Geometry::of_machine(root)
            .with(&self.cache)
            .map_err(|error| UsageError::Cache(format!("--cache {error}")))?;
        let tlbs_asked = Geometry::names_tlbs(&self.cache);
        let EmulationChoice { prefetch, burst, classify, heap, explains, .. } = *self;
        // Both follow from every access.
        let explains = explains && burst.is_none();
        let classify = classify || explains && !prefetch;
        let (heap, layouts) = (heap.is_some() || explains, self.layouts.clone());
        Ok(Model { geometry, tlbs_asked, prefetch, burst, classify, heap, layouts })
    }
}

/// Bytes for each block that is sampled, from 1 on; nothing: the usual.
fn heap_bytes(text: &str) -> Result<u64, UsageError> {
    // Beyond it there is no sample in the life of a machine.
    const MOST: u64 = 1 << 50;
    match text {
        "" => Ok(HeapSettings::DEFAULT_RATE),
        _ => bytes(text).filter(|bytes| (1..=MOST).contains(bytes)).ok_or_else(|| {
            UsageError::Source(format!(
                "--heap={text} is no number of bytes: say 1 for every block, or how many are \
                     allocated for each sampled one, as in --heap=512k"
            ))
        }),
    }
}

/// A number of bytes; k, m and g are powers of 1024.
fn bytes(text: &str) -> Option<u64> {
    let (digits, shift) = match text.char_indices().next_back()? {
        (at, 'k' | 'K') => (&text[..at], 10),
        (at, 'm' | 'M') => (&text[..at], 20),
        (at, 'g' | 'G') => (&text[..at], 30),
        _ => (text, 0),
    };
    digits.parse::<u64>().ok()?.checked_mul(1 << shift)
}

/// `N/M` or `N/M+W`; each may end in k, m or g, powers of 1000.
fn burst(text: &str) -> Result<Burst, UsageError> {
    let wrong = || UsageError::Burst(text.to_owned());
    let (on, every) = text.split_once('/').ok_or_else(wrong)?;
    let on = scaled(on).ok_or_else(wrong)?;
    let (every, warm) = match every.split_once('+') {
        Some((every, warm)) => (every, Some(scaled(warm).ok_or_else(wrong)?)),
        None => (every, None),
    };
    let every = scaled(every).ok_or_else(wrong)?;
    if on == 0 || on > every || warm.is_some_and(|warm| warm > every - on) {
        return Err(wrong());
    }
    Ok(Burst { on, every, warm })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meant(
        source: Option<&str>,
        cache: &[&str],
        burst: Option<&str>,
    ) -> Result<EmulationChoice, UsageError> {
        EmulationChoice::new(&EmulationArguments {
            source: source.map(str::to_owned),
            cache: cache.iter().map(|&spec| spec.to_owned()).collect(),
            prefetch: false,
            burst: burst.map(str::to_owned),
            classify: None,
            heap: None,
            layouts: Vec::new(),
        })
    }

    #[test]
    fn who_describes_the_model_wants_it() {
        assert_eq!(meant(None, &[], None), Ok(EmulationChoice::default()));
        let described = meant(None, &["l1d=32k,8,64", "l2=off"], None).expect("means something");
        assert_eq!(described.source, SourceChoice::Emulated);
        assert_eq!(described.cache, "l1d=32k,8,64 l2=off");
        let auto = meant(Some("auto"), &[], Some("1/2")).expect("means something");
        assert_eq!(auto.source, SourceChoice::Emulated);
        assert_eq!(meant(Some("pmu"), &[], Some("1/2")), Err(UsageError::NotOfPmu("--burst")));
        assert_eq!(meant(Some("pmu"), &[], None).expect("is one").source, SourceChoice::Pmu);
        let error = meant(Some("hardware"), &[], None).expect_err("is none").to_string();
        assert!(error.contains("\"hardware\"") && error.contains("emulated"), "{error}");
    }

    #[test]
    fn a_burst_is_a_part_of_the_whole() {
        let of = |text: &str| meant(None, &[], Some(text)).map(|meant| meant.burst);
        let burst = |on, every, warm| Ok(Some(Burst { on, every, warm }));
        assert_eq!(of("5/100"), burst(5, 100, None));
        assert_eq!(of("10k/1M"), burst(10_000, 1_000_000, None));
        assert_eq!(of("1g/1g"), burst(1_000_000_000, 1_000_000_000, None));
        assert_eq!(of("10k/1M+0"), burst(10_000, 1_000_000, Some(0)));
        assert_eq!(of("10k/1M+50k"), burst(10_000, 1_000_000, Some(50_000)));
        for text in [
            "", "5", "0/5", "6/5", "-1/5", "a/b", "5/", "/5", "1/2/3", "1t/2t", "k/m", "5/9+5",
            "5/9+", "5+1/9",
        ] {
            assert_eq!(of(text), Err(UsageError::Burst(text.to_owned())), "{text}");
        }
        let too_many = "1/99999999999999999999g";
        assert_eq!(of(too_many), Err(UsageError::Burst(too_many.to_owned())));
    }
}
