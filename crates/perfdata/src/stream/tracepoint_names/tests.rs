use super::{FormatsPart, TracepointName, TracepointNames};
use crate::bytes::{ByteOrder, ByteWriter};
use proptest::prelude::*;

/// A format as the kernel prints it.
fn format(name: &str, id: u64) -> String {
    let fields = "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n".repeat(9);
    format!("name: {name}\nID: {id}\nformat:\n{fields}\nprint fmt: \"%s\", REC->comm\n")
}

/// Tracing data of these systems, as perf writes them.
fn data(order: ByteOrder, systems: &[(&str, &[(&str, u64)])]) -> Vec<u8> {
    let mut out = b"\x17\x08\x44tracing0.6\0".to_vec();
    let w = &mut ByteWriter::new(&mut out, order);
    w.u8(u8::from(order == ByteOrder::Big));
    w.u8(8);
    w.u32(4096);
    let sized = |w: &mut ByteWriter<'_>, text: &str| {
        w.u64(text.len() as u64);
        w.raw(text.as_bytes());
    };
    w.raw(b"header_page\0");
    sized(w, "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n");
    w.raw(b"header_event\0");
    sized(w, "# compressed entry header\n\ttype_len    :    5 bits\n");
    w.u32(2);
    sized(w, &format("function", 1));
    sized(w, &format("funcgraph_entry", 2));
    w.u32(u32::try_from(systems.len()).unwrap());
    for (system, tracepoints) in systems {
        w.raw(system.as_bytes());
        w.u8(0);
        w.u32(u32::try_from(tracepoints.len()).unwrap());
        for (name, id) in *tracepoints {
            sized(w, &format(name, *id));
        }
    }
    // kallsyms, formats of printk, command names
    w.u32(7);
    w.raw(b"0 T a\n\0");
    w.u32(0);
    w.u64(0);
    out
}

const SYSTEMS: [(&str, &[(&str, u64)]); 3] = [
    ("sched", &[("sched_switch", 317), ("sched_waking", 319)]),
    ("empty", &[]),
    ("probe_untitled1", &[("main", 2010)]),
];

fn read(bytes: &[u8], piece: usize) -> (Vec<TracepointName>, TracepointNames) {
    let (mut found, mut reader) = (Vec::new(), TracepointNames::default());
    for piece in bytes.chunks(piece) {
        reader.take(piece, |tracepoint| found.push(tracepoint));
    }
    (found, reader)
}

fn expected() -> Vec<TracepointName> {
    [("sched:sched_switch", 317), ("sched:sched_waking", 319), ("probe_untitled1:main", 2010)]
        .map(|(name, id)| TracepointName { id, name: name.to_owned() })
        .to_vec()
}

#[test]
fn names_are_read_in_both_orders_and_pieces_of_any_size() {
    for order in [ByteOrder::Little, ByteOrder::Big] {
        let bytes = data(order, &SYSTEMS);
        for piece in [1, 2, 7, 64, 1000, bytes.len()] {
            let (found, reader) = read(&bytes, piece);
            assert_eq!(found, expected(), "{order:?} {piece}");
            assert_eq!(reader.part, FormatsPart::Done);
        }
    }
}

#[test]
fn what_makes_no_sense_ends_it() {
    assert_eq!(read(b"\x17\x08\x44tracinG", 3).1.part, FormatsPart::Done);
    let mut endless = data(ByteOrder::Little, &[]);
    endless.truncate(10);
    endless.resize(10 + 300, b'7');
    assert_eq!(read(&endless, 100).1.part, FormatsPart::Done, "a version without an end");
    let claims = [&data(ByteOrder::Little, &[])[..20], b"header_page\0", &[0xff; 8], &[1; 5000]];
    let (found, reader) = read(&claims.concat(), 999);
    assert_eq!(found, []);
    assert!(reader.held.capacity() <= 4096, "{}", reader.held.capacity());
}

proptest! {
    #[test]
    fn no_bytes_do_harm(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        piece in 1usize..500,
    ) {
        let mut bytes = data(ByteOrder::Little, &SYSTEMS);
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let (found, reader) = read(&bytes, piece);
        prop_assert_eq!(&found, &read(&bytes, bytes.len()).0);
        prop_assert!(reader.held.capacity() <= 4096);
    }
}
