use super::super::bell::{Ear, bell};
use super::super::chunk::lost_of;
use super::super::queue::{Next, Outlet, QueueItem, queue};
use super::super::share::ClientShare;
use super::*;

/// So many samples of 64 bytes each.
fn samples(count: usize) -> Vec<u8> {
    let mut record = vec![9, 0, 0, 0, 2, 0, 64, 0];
    record.resize(64, 7);
    record.repeat(count)
}

/// A client with nothing in its queue.
fn client(fan: &mut Fan, capacity: u64) -> (Outlet, Arc<ClientShare>, Ear) {
    let (feed, outlet) = queue(capacity);
    let (bell, ear) = bell().unwrap();
    let share = Arc::<ClientShare>::default();
    let subscriber = Subscriber {
        feed,
        bell,
        when_slow: WhenSlow::DropNewest,
        share: Arc::clone(&share),
        gap: SampleGap::default(),
    };
    fan.add(subscriber, &Arc::from(&[][..]));
    (outlet, share, ear)
}

fn fan() -> Fan {
    Fan::new(vec![0; 8], true, FxHashMap::default())
}

/// What waits for a client: samples by kind, and the largest item.
fn waiting(outlet: &mut Outlet) -> (u64, usize) {
    let (mut found, mut largest) = (0, 0);
    while let Next::Item(QueueItem::Bytes(bytes)) = outlet.next() {
        found += Chunk::new(&bytes).samples;
        largest = largest.max(bytes.len());
    }
    (found, largest)
}

#[test]
fn what_an_empty_queue_has_room_for_goes_in_however_much_comes_at_once() {
    let mut fan = fan();
    let (mut outlet, share, _ear) = client(&mut fan, 8 << 20);
    // 4 MiB: half of the queue.
    fan.write(&samples(65_536)).unwrap();
    // Another 4 MiB: up to three fifths.
    fan.write(&samples(65_536)).unwrap();
    let account = share.account(&Account { delivered: 131_072, ..Account::default() });
    let (found, largest) = waiting(&mut outlet);
    assert_eq!((found, largest), (account.delivered, RUN));
    assert!((77_000..=78_643).contains(&found), "{found} of three fifths of 8 MiB");
    assert_eq!(account.lost.get("queue"), Some(&(131_072 - found)));
    // A pass over full rings, which alone is more than three fifths.
    fan.write(&samples(100_000)).unwrap();
    let (found, _) = waiting(&mut outlet);
    assert!((77_000..=78_643).contains(&found), "{found}");
}

#[test]
fn a_client_is_told_how_many_exact_ips_it_was_given() {
    let mut fan = fan();
    let (mut outlet, share, _ear) = client(&mut fan, RUN as u64);
    let mut exact = samples(300);
    exact.chunks_mut(64).for_each(|record| record[5] = 0x40);
    fan.write(&[samples(200), exact.clone()].concat()).unwrap();
    assert_eq!(waiting(&mut outlet).0, 500);
    // More than there is room for: not given, not counted.
    fan.write(&exact.repeat(5)).unwrap();
    let account = share.account(&Account { delivered: 2000, ..Account::default() });
    let (given, _) = waiting(&mut outlet);
    assert_eq!((account.delivered, account.exact_ip), (500 + given, 300 + given));
    assert!(given < 1500, "{given}");
}

#[test]
fn a_queue_of_one_run_still_takes_that_run() {
    let mut fan = fan();
    let (mut outlet, share, _ear) = client(&mut fan, RUN as u64);
    fan.write(&samples(1024)).unwrap();
    assert_eq!(waiting(&mut outlet), (1024, RUN));
    fan.write(&samples(1025)).unwrap();
    assert_eq!(waiting(&mut outlet), (1024, RUN));
    let account = share.account(&Account { delivered: 2049, ..Account::default() });
    assert_eq!((account.delivered, account.lost.get("queue")), (2048, Some(&1)));
}

#[test]
fn what_found_no_room_is_told_once_there_is_room_though_nothing_comes() {
    let mut fan = fan();
    let (mut outlet, _share, _ear) = client(&mut fan, RUN as u64);
    fan.write(&samples(1025)).unwrap();
    fan.tell_gaps();
    assert_eq!(waiting(&mut outlet), (1024, RUN), "the queue was full");
    fan.tell_gaps();
    let Next::Item(QueueItem::Bytes(gap)) = outlet.next() else { panic!("nothing is told") };
    assert_eq!((gap[0], lost_of(&gap)), (2, 1), "a LOST record");
    fan.tell_gaps();
    assert!(matches!(outlet.next(), Next::Empty), "once");
}

#[test]
fn records_longer_than_a_run_and_no_records_are_runs_of_their_own() {
    let mut long = vec![10, 0, 0, 0, 2, 0];
    long.extend(0x8000_u16.to_ne_bytes());
    long.resize(0x8000, 1);
    let bytes = [samples(1), long.clone(), samples(2), vec![1, 2, 3]].concat();
    let lengths: Vec<usize> = runs(&bytes, 128).map(<[u8]>::len).collect();
    assert_eq!(lengths, [64, long.len(), 128, 3]);
    assert_eq!(runs(&[], 128).count(), 0);
}

/// An aggregate of so many sites with three hits each, of event 7.
fn aggregate(sites: u64) -> Vec<u8> {
    use perfdata::aggregate::{Aggregate, Bits, RegisterBits, Site};
    use perfdata::{CpuMode, Time};
    let site = |ip| Site {
        process: None,
        pids: Bits::of(9),
        ip,
        mode: CpuMode::User,
        count: 3,
        period: 3,
        first: Time(1),
        last: Time(2),
        address: None,
        registers: (0..16).map(|number| RegisterBits { number, bits: Bits::of(ip) }).collect(),
        taken: Vec::new(),
        strides: None,
        chain: None,
    };
    let sites = (0..sites).map(site).collect();
    let all = Aggregate { from: Time(1), to: Time(2), sites, lost: Vec::new() };
    let mut bytes = Vec::new();
    write::aggregate(7, all, NATIVE_ORDER, &mut bytes).unwrap();
    bytes
}

#[test]
fn an_aggregate_goes_in_whole_or_is_counted_as_lost() {
    let bytes = aggregate(2000);
    assert!(bytes.len() > 3 * RUN, "{} bytes are several records and runs", bytes.len());
    let with_others = [samples(1), bytes.clone(), samples(1)].concat();
    let lengths: Vec<usize> = runs(&with_others, RUN).map(<[u8]>::len).collect();
    assert_eq!(lengths, [64, bytes.len(), 64]);
    let chunk = Chunk::new(&with_others);
    assert_eq!((chunk.samples, chunk.counted), (6002, 6000));
    let tally: Vec<_> = ChunkTally::of(&Chunk::new(&bytes), true).iter().collect();
    assert_eq!(tally.iter().map(|(id, s)| (*id, s.all)).collect::<Vec<_>>(), [(7, 6000)]);
    assert!(chunk.without_samples().is_empty());
    // Room for one and a half.
    let mut fan = fan();
    let (mut outlet, share, _ear) = client(&mut fan, bytes.len() as u64 / 2 * 3);
    fan.write(&bytes).unwrap();
    fan.write(&bytes).unwrap();
    let account = share.account(&Account { delivered: 12_000, ..Account::default() });
    assert_eq!((account.delivered, account.lost.get("queue")), (6000, Some(&6000)));
    assert_eq!(waiting(&mut outlet), (6000, bytes.len()));
    fan.write(&aggregate(1)).unwrap();
    let Next::Item(QueueItem::Bytes(gap)) = outlet.next() else { panic!("the gap is told first") };
    let told = u64::from_ne_bytes(gap[16..24].try_into().unwrap());
    assert_eq!((gap[0], told), (2, 6000), "a LOST record");
    assert_eq!(waiting(&mut outlet).0, 3);
}
