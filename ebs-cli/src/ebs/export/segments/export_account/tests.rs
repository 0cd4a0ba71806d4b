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
