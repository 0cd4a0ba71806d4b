//! Any records to clients of any pace: each gets whole records in order, and
//! the account of what it did not get is exact, in numbers and in the LOST
//! records of its stream.
//!
//! Input: the queues' size, how many clients and their paces, then the
//! records: of each a byte for kind and place in its chunk, one for its size,
//! one for its event.
#![no_main]

use std::collections::BTreeMap;

use daemon::fuzzing::fan_out;
use libfuzzer_sys::fuzz_target;
use recorder::remote::protocol::{Account, WhenSlow};

const LOST: u32 = 2;
const COMM: u32 = 3;
const SAMPLE: u32 = 9;
/// PERF_RECORD_FINISHED_ROUND, of a tool.
const ROUND: u32 = 68;

fn record(kind: u32, id: u64, size: usize, number: u64) -> Vec<u8> {
    let size = 24 + size * 8;
    let mut bytes = kind.to_le_bytes().to_vec();
    bytes.extend(2u16.to_le_bytes());
    bytes.extend((size as u16).to_le_bytes());
    bytes.extend(id.to_le_bytes());
    bytes.extend(number.to_le_bytes());
    bytes.resize(size, 0xaa);
    bytes
}

fn word(record: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(record[at..at + 8].try_into().expect("eight bytes"))
}

fuzz_target!(|input: &[u8]| {
    let Some((&[room, count, paces @ ..], records)) = input.split_first_chunk::<8>() else {
        return;
    };
    let slow = |pace: u8| if pace & 1 == 0 { WhenSlow::DropNewest } else { WhenSlow::Disconnect };
    let clients: Vec<(u8, WhenSlow)> = paces.iter().map(|&pace| (pace, slow(pace))).collect();
    let clients = &clients[..usize::from(count) % clients.len() + 1];

    let mut chunks: Vec<Vec<u8>> = vec![Vec::new()];
    let mut of_event: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    let (mut samples, mut side) = (0, 0);
    for (number, made) in (0..).zip(records.chunks_exact(3)) {
        let (id, size) = (u64::from(made[2] % 4) + 1, usize::from(made[1]));
        let kind = [SAMPLE, SAMPLE, COMM, ROUND][usize::from(made[0] % 4)];
        if made[0] & 0x10 == 0 {
            chunks.push(Vec::new());
        }
        chunks.last_mut().expect("one").extend(record(kind, id, size, number));
        match kind {
            SAMPLE => {
                samples += 1;
                of_event.entry(id).or_default().push(number);
            }
            COMM => side += 1,
            _ => {}
        }
    }
    let kernel = Some(samples);
    let session = Account { kernel, delivered: samples, side, ..Account::default() };
    let served = fan_out(&chunks, u64::from(room) << 6, clients, &session).expect("a pipe");
    for (n, client) in served.iter().enumerate() {
        let lost: u64 = client.account.lost.values().sum();
        assert_eq!(client.account.delivered + lost, samples, "{client:?}");
        let (mut got, mut gaps, mut last) = ((0, 0), BTreeMap::new(), None);
        let mut rest = &client.stream[..];
        while !rest.is_empty() {
            let size = usize::from(u16::from_le_bytes([rest[6], rest[7]]));
            let (record, after) = rest.split_at(size);
            rest = after;
            let number = word(record, 16);
            let kind = u32::from(record[0]);
            if kind == LOST {
                *gaps.entry(word(record, 8)).or_insert(0) += number;
                continue;
            }
            assert!(last < Some(number), "in order");
            last = Some(number);
            match kind {
                SAMPLE => got.0 += 1,
                COMM => got.1 += 1,
                _ => {}
            }
        }
        assert_eq!((got.0, got.1), (client.account.delivered, client.account.side));
        let queue = client.account.lost.get("queue").copied().unwrap_or(0);
        let told: u64 = gaps.values().sum();
        if !client.overrun {
            assert_eq!(told, queue, "each sample that is missing is told");
            assert_eq!(client.account.lost.get("disconnected"), None);
            let missing = client.account.side + client.account.side_lost;
            if n == 0 {
                assert_eq!(missing, side, "side records are kept");
                assert_eq!(client.account.lost.get("before"), None);
            }
            assert_eq!(client.account.side_lost, 0);
        }
        if n == 0 && !client.overrun {
            for (id, numbers) in &of_event {
                let lost = gaps.get(id).copied().unwrap_or(0);
                assert!(lost <= numbers.len() as u64, "of their own event");
            }
        }
    }
});
