//! A cache as a textbook has it, slow and plain: sets of lines in the order
//! of their last use.

#[derive(Clone, Debug)]
pub(crate) struct Cache {
    line: u64,
    ways: usize,
    sets: Vec<Vec<u64>>,
}

impl Cache {
    pub(crate) fn new(size: u64, ways: usize, line: u64) -> Cache {
        let sets = usize::try_from(size / line).unwrap() / ways;
        Cache { line, ways, sets: vec![Vec::new(); sets] }
    }

    /// Whether an access misses: any of the lines that it touches.
    pub(crate) fn misses(&mut self, address: u64, size: u64) -> bool {
        let first = address / self.line;
        let last = address.wrapping_add(size - 1) / self.line;
        let mut missed = false;
        for line in first..=last {
            missed |= self.line_misses(line);
        }
        missed
    }

    fn line_misses(&mut self, line: u64) -> bool {
        let count = u64::try_from(self.sets.len()).unwrap();
        let set = &mut self.sets[usize::try_from(line % count).unwrap()];
        let place = set.iter().position(|&held| held == line);
        let missed = match place {
            Some(place) => {
                set.remove(place);
                false
            }
            None => {
                set.truncate(self.ways - 1);
                true
            }
        };
        set.insert(0, line);
        missed
    }
}

#[test]
fn the_line_used_longest_ago_goes() {
    let mut cache = Cache::new(256, 2, 64);
    assert!(cache.misses(0, 8) && cache.misses(128, 8) && !cache.misses(0, 8));
    assert!(cache.misses(256, 8), "a third line of the set");
    assert!(!cache.misses(0, 8) && cache.misses(128, 8));
    assert!(cache.misses(60, 8), "two lines, one of them held");
    assert!(!cache.misses(60, 8));
}
