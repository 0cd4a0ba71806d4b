//! What of a session's segments was exported.

use super::segment_folder::ListedSegments;
use perfdata::segment::SegmentHeader;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

pub(super) const VERSION: u32 = 1;
/// Numbers that are looked for one by one where they are missing; more are gone.
const LOOKED_FOR: u64 = 1 << 16;

/// Which segment one is: numbers begin anew where a directory was emptied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SegmentKey {
    pub(super) number: u64,
    /// Of its sampling, random; 0: its header cannot be read.
    pub(super) stream: u64,
}

impl SegmentKey {
    /// That of a file, by its name's number and its header.
    pub(super) fn of(number: u64, header: Option<&SegmentHeader>) -> SegmentKey {
        SegmentKey { number, stream: header.map_or(0, |header| header.stream) }
    }

    fn is_unread(self) -> bool {
        self.stream == 0
    }
}

/// A part that is written, or was when its writer was killed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PendingPart {
    pub(super) key: SegmentKey,
    /// What it is called until it is whole, in the folder.
    pub(super) file: PathBuf,
    /// What it is called then: it is on disk, whole. None: it may be half of
    /// one.
    pub(super) part: Option<PathBuf>,
    pub(super) samples: u64,
}

/// Since the account was begun.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ExportTotals {
    /// Segments that were exported, those without a sample included.
    pub(super) segments: u64,
    /// Samples in them, as many as a report counts.
    pub(super) samples: u64,
    /// Segments of which a part alone could be read.
    pub(super) damaged: u64,
    /// Segments that went before they were exported.
    pub(super) missed: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ExportAccount {
    pub(super) hardmeter_export_account: u32,
    pub(super) directory: PathBuf,
    /// All below are in one of the books; None: nothing was looked at yet.
    next: Option<u64>,
    /// Streams of those that were exported and are there still, by number.
    exported: BTreeMap<u64, u64>,
    /// Numbers of those that are to be exported, or to be tried again.
    waiting: BTreeSet<u64>,
    pub(super) pending: Option<PendingPart>,
    pub(super) totals: ExportTotals,
}

impl ExportAccount {
    pub(super) fn new(directory: PathBuf) -> ExportAccount {
        ExportAccount { hardmeter_export_account: VERSION, directory, ..ExportAccount::default() }
    }

    /// Whether it was exported. One whose header cannot be read any more is what
    /// it was.
    pub(super) fn has(&self, key: &SegmentKey) -> bool {
        let known = self.exported.get(&key.number);
        known.is_some_and(|stream| key.is_unread() || *stream == key.stream)
    }

    /// Whether numbers began anew; they are new ones then.
    pub(super) fn is_numbered_anew(&mut self, keys: &[SegmentKey]) -> bool {
        let Some(next) = self.next else { return false };
        let is_other = |key: &SegmentKey| {
            let is_known = self.has(key) || self.waiting.contains(&key.number);
            key.number < next && !key.is_unread() && !is_known
        };
        let is_anew = keys.iter().any(is_other);
        if is_anew {
            let known = keys.iter().filter(|key| self.has(key) && !key.is_unread());
            self.exported = known.map(|key| (key.number, key.stream)).collect();
            self.totals.missed += self.waiting.len() as u64;
            self.waiting.clear();
            self.next = None;
        }
        is_anew
    }

    /// Takes in what there is: what was exported and is gone is forgotten, what
    /// was not is to be tried. Gives how many are gone that were not exported.
    /// `is_there` looks for one, as a list may miss what changes its name
    /// meanwhile.
    pub(super) fn look(&mut self, listed: &ListedSegments, is_there: impl Fn(u64) -> bool) -> u64 {
        let is_gone = |number: u64| !listed.all.contains(&number) && !is_there(number);
        self.exported.retain(|number, _| !is_gone(*number));
        let waited = self.waiting.len();
        self.waiting.retain(|number| !is_gone(*number));
        let mut gone = (waited - self.waiting.len()) as u64;
        let next = self.next.or(listed.all.first().copied());
        if let (Some(next), Some(last)) = (next, listed.finished.last().copied()) {
            let known = listed.all.range(next..=last.max(next)).filter(|it| **it <= last);
            let known: BTreeSet<u64> = known.copied().collect();
            let all = last.saturating_add(1).saturating_sub(next);
            let missing = match all < LOOKED_FOR {
                true => (next..=last).filter(|number| !known.contains(number)).collect(),
                false => Vec::new(),
            };
            let (there, away): (Vec<u64>, Vec<u64>) =
                missing.into_iter().partition(|it| is_there(*it));
            gone += match all < LOOKED_FOR {
                true => away.len() as u64,
                false => all - known.len() as u64,
            };
            self.waiting.extend(known.into_iter().chain(there));
            let exported = &self.exported;
            self.waiting.retain(|number| !exported.contains_key(number));
            self.next = Some(next.max(last.saturating_add(1)));
        }
        self.totals.missed += gone;
        gone
    }

    pub(super) fn exported(&mut self, pending: &PendingPart) {
        let SegmentKey { number, stream } = pending.key;
        self.exported.insert(number, stream);
        self.waiting.remove(&number);
        self.totals.segments += 1;
        self.totals.samples += pending.samples;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(all: &[u64], open: &[u64]) -> ListedSegments {
        let all: BTreeSet<u64> = all.iter().chain(open).copied().collect();
        let finished = all.iter().copied().filter(|number| !open.contains(number)).collect();
        ListedSegments { all, finished }
    }

    fn key(number: u64, stream: u64) -> SegmentKey {
        SegmentKey { number, stream }
    }

    fn export(account: &mut ExportAccount, key: SegmentKey) {
        account.exported(&PendingPart { key, file: PathBuf::new(), part: None, samples: 10 });
    }

    /// Looks where nothing changes meanwhile.
    fn look(account: &mut ExportAccount, listed: &ListedSegments) -> u64 {
        let numbers = listed.all.clone();
        account.look(listed, |number| numbers.contains(&number))
    }

    #[test]
    fn what_goes_before_it_is_exported_is_counted_once() {
        let mut account = ExportAccount::new("/x".into());
        // What had gone before the first look is none of its.
        assert_eq!(look(&mut account, &listed(&[5, 6], &[7])), 0);
        export(&mut account, key(5, 1));
        // 6 was not exported, 7 was finished and went, 8 never seen.
        for gone in [3, 0] {
            assert_eq!(look(&mut account, &listed(&[9, 10], &[11])), gone);
        }
        assert_eq!(account.totals.missed, 3);
        assert!(!account.has(&key(9, 1)));
        export(&mut account, key(9, 1));
        assert!(account.has(&key(9, 1)));
        // The one that is written is not gone when it is finished.
        assert_eq!(look(&mut account, &listed(&[9, 10, 11], &[12])), 0);
        assert_eq!(account.waiting, BTreeSet::from([10, 11]));
        // Nothing is left but what is written.
        assert_eq!(look(&mut account, &listed(&[], &[12])), 2);
        assert_eq!(look(&mut account, &listed(&[], &[])), 0);
        assert!(account.exported.is_empty(), "what is gone is forgotten: {account:?}");
        assert_eq!(look(&mut account, &listed(&[14], &[])), 2, "12 and 13");
    }

    #[test]
    fn what_changes_its_name_while_the_list_is_made_is_not_gone() {
        let mut account = ExportAccount::new("/x".into());
        assert_eq!(look(&mut account, &listed(&[1], &[2])), 0);
        assert_eq!(account.look(&listed(&[4], &[]), |number| number < 4), 0);
        assert_eq!(account.waiting, BTreeSet::from([1, 2, 3, 4]));
    }

    #[test]
    fn numbers_that_begin_anew_are_other_segments() {
        let mut account = ExportAccount::new("/x".into());
        look(&mut account, &listed(&[40, 41], &[]));
        export(&mut account, key(40, 1));
        let same = [key(40, 1), key(41, 1)];
        assert!(!account.is_numbered_anew(&same), "41 waits");
        let unread = [key(40, 0), key(41, 1)];
        assert!(!account.is_numbered_anew(&unread), "it was exported, whatever became of it");
        assert!(account.has(&unread[0]));
        let anew = [key(0, 2), key(40, 1)];
        assert!(account.is_numbered_anew(&anew));
        assert_eq!(account.totals.missed, 1, "41");
        assert_eq!(look(&mut account, &listed(&[0, 40], &[])), 39, "1 to 39 never were, or went");
        assert!(account.has(&key(40, 1)) && !account.has(&key(0, 2)));
    }

    #[test]
    fn any_number_is_taken() {
        let mut account = ExportAccount::new("/x".into());
        look(&mut account, &listed(&[3], &[]));
        assert!(look(&mut account, &listed(&[3, u64::MAX], &[])) > 1 << 60);
        assert_eq!(look(&mut account, &listed(&[3, u64::MAX], &[])), 0);
    }
}
