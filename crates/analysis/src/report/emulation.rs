//! How samples that no hardware made are told apart.

use std::fmt::Write;

/// What was modelled, in one phrase; None: the samples are of no emulated
/// PMU. `says` gives what the recorder promised of the event, by key: see
/// docs/stream-format.md.
pub fn emulation<'n>(says: impl Fn(&str) -> Option<&'n str>) -> Option<String> {
    if says("source") != Some("emulated") {
        return None;
    }
    let mut phrase = format!("emulated: {}", says("model").unwrap_or("a model without a name"));
    // Writing to a String cannot fail.
    if says("prefetch") == Some("on") {
        phrase.push_str(", prefetchers on");
    }
    if let Some((on, of)) = says("burst").and_then(|burst| burst.split_once('/')) {
        let _ = write!(phrase, "; {on} of every {of} instructions were counted");
        if let Some(warm) = says("warm_up").filter(|warm| *warm != "0") {
            let _ = write!(phrase, ", after {warm} that warmed the caches up");
        }
    }
    phrase.push_str("; no hardware was sampled");
    Some(phrase)
}

#[cfg(test)]
mod tests {
    use super::emulation;
    use perfdata::stream::note;

    fn told(text: &str) -> Option<String> {
        emulation(|key| note::value(text, key))
    }

    #[test]
    fn the_model_is_named_and_hardware_is_not_touched() {
        assert_eq!(told("source=pebs;model=x"), None);
        assert_eq!(told(""), None);
        let whole = "source=emulated;ip=exact;model=32K/8 L1D, 1M/16 L2;prefetch=on;burst=5/100;\
                     warm_up=20";
        assert_eq!(
            told(whole).as_deref(),
            Some(
                "emulated: 32K/8 L1D, 1M/16 L2, prefetchers on; 5 of every 100 instructions were \
                 counted, after 20 that warmed the caches up; no hardware was sampled"
            )
        );
        let least = told("source=emulated;prefetch=off");
        assert_eq!(
            least.as_deref(),
            Some("emulated: a model without a name; no hardware was sampled")
        );
    }
}
