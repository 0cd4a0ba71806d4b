//! What a curve can be of, by an event's name.

use crate::cache_shape::MissedLevel;

/// Accesses that are told of one by one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum CurveSubject {
    All,
    Misses(MissedLevel),
}

impl CurveSubject {
    /// Of the event of this name.
    ///
    /// # Errors
    /// Why its samples, even if they were all there, make no curve.
    pub(crate) fn of_event(name: &str) -> Result<CurveSubject, &'static str> {
        let request = name.to_ascii_lowercase();
        if request.contains("memory_moves") {
            return Ok(CurveSubject::All);
        }
        if request.contains("memory_loads") || request.contains("memory_stores") {
            return Err("loads take room from stores, and stores from loads: -t memory_moves has \
                        both, -t l1_cache_miss the misses of both");
        }
        match MissedLevel::of_event(name) {
            Some(level) if level.is_of_pages() => {
                Err("it is about translations: of misses of caches there is a curve")
            }
            Some(level) => Ok(CurveSubject::Misses(level)),
            None => Err("it is no miss of a cache: -t l1_cache_miss is, and -t memory_moves, all \
                         loads and stores, will do"),
        }
    }

    /// Whether all threads of a process have one such cache, as in the model.
    pub(crate) fn is_shared(self) -> bool {
        self == CurveSubject::Misses(MissedLevel::L3)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_what_a_curve_is_of() {
        let of = CurveSubject::of_event;
        assert_eq!(of("emulated/memory_moves/"), Ok(CurveSubject::All));
        assert_eq!(of("emulated/l1_cache_miss/"), Ok(CurveSubject::Misses(MissedLevel::L1d)));
        assert_eq!(of("l3_cache_miss").map(CurveSubject::is_shared), Ok(true));
        assert!(of("l2_cache_miss") < of("l3_cache_miss") && of("memory_moves") < of("l1_miss"));
        for none in ["memory_loads", "memory_stores", "dtlb_load_miss", "page_fault", "l1i_miss"] {
            assert!(of(none).is_err(), "{none}");
        }
    }
}
