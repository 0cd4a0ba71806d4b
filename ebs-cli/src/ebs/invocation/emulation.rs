//! What the options of the emulated PMU mean.

use super::Misuse;
use super::events::scaled;
use crate::ebs::arguments::EmulationArguments;
use emulator::{Burst, Geometry, ObjectLayout};
use recorder::emulated::Model;
use recorder::{HeapSettings, SourceChoice};
use std::path::Path;

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
}

impl EmulationChoice {
    /// Whoever describes the emulated PMU wants it.
    pub(super) fn new(arguments: &EmulationArguments) -> Result<EmulationChoice, Misuse> {
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
        let asked = asked.map_err(|unknown| Misuse::Source(format!("{unknown}")))?;
        let source = match (asked, described) {
            (Some(SourceChoice::Pmu), Some(option)) => return Err(Misuse::NotOfPmu(option)),
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
        })
    }
}

impl EmulationChoice {
    /// The machine that is modelled; `root` holds the real one's `sys`.
    ///
    /// # Errors
    /// `--cache` that describes no caches.
    pub fn model(&self, root: &Path) -> Result<Model, Misuse> {
        let geometry = Geometry::of_machine(root)
            .with(&self.cache)
            .map_err(|error| Misuse::Cache(format!("--cache {error}")))?;
        let tlbs_asked = Geometry::names_tlbs(&self.cache);
        let EmulationChoice { prefetch, burst, classify, heap, .. } = *self;
        let (heap, layouts) = (heap.is_some(), self.layouts.clone());
        Ok(Model { geometry, tlbs_asked, prefetch, burst, classify, heap, layouts })
    }
}

/// Bytes for each block that is sampled, from 1 on; nothing: the usual.
fn heap_bytes(text: &str) -> Result<u64, Misuse> {
    // Beyond it there is no sample in the life of a machine.
    const MOST: u64 = 1 << 50;
    match text {
        "" => Ok(HeapSettings::USUAL_RATE),
        _ => bytes(text).filter(|bytes| (1..=MOST).contains(bytes)).ok_or_else(|| {
            Misuse::Source(format!(
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
fn burst(text: &str) -> Result<Burst, Misuse> {
    let wrong = || Misuse::Burst(text.to_owned());
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
    ) -> Result<EmulationChoice, Misuse> {
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
        assert_eq!(meant(Some("pmu"), &[], Some("1/2")), Err(Misuse::NotOfPmu("--burst")));
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
            assert_eq!(of(text), Err(Misuse::Burst(text.to_owned())), "{text}");
        }
        let too_many = "1/99999999999999999999g";
        assert_eq!(of(too_many), Err(Misuse::Burst(too_many.to_owned())));
    }
}
