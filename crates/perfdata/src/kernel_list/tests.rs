use super::part::parts;
use super::*;
use crate::bytes::{ByteOrder, ByteWriter};
use proptest::prelude::*;

fn list(lines: &[(u64, u8, &str, u16)]) -> KernelList {
    let mut list = KernelList::default();
    for &(address, kind, name, module) in lines {
        let start = u32::try_from(list.names.len()).unwrap();
        list.names.extend_from_slice(name.as_bytes());
        list.names.push(b'\n');
        let length = u16::try_from(name.len()).unwrap();
        list.symbols.push(KernelSymbol { address, name: start, length, module, kind });
    }
    list
}

fn shown(list: &KernelList) -> Vec<(u64, char, String, u16)> {
    let one = |symbol: &KernelSymbol| {
        let name = String::from_utf8_lossy(list.name(symbol)).into_owned();
        (symbol.address, char::from(symbol.kind), name, symbol.module)
    };
    list.symbols.iter().map(one).collect()
}

const NONE: u16 = KernelSymbol::NO_MODULE;

#[test]
fn code_and_where_it_ends_is_kept() {
    let mut list = list(&[
        (0, b'A', "fixed_percpu_data", NONE),
        (0x300, b'd', "one", 1),
        (0x100, b'T', "_text", NONE),
        (0x100, b't', "first", NONE),
        (0x140, b'D', "end", NONE),
        (0x140, b'D', "data", NONE),
        (0x180, b'D', "more", NONE),
        (0x200, b't', "own", 0),
        (0x340, b'b', "two", 1),
    ]);
    list.modules = vec![
        KernelModule { name: b"a".to_vec(), base: 0x200, size: 64, build_id: vec![1, 2] },
        KernelModule { name: b"b".to_vec(), ..KernelModule::default() },
    ];
    list.build_id = vec![7; 20];
    let mut all = list.clone();
    list.keep_code();
    let name = |name: &str| name.to_owned();
    let wanted = vec![
        (0x100, 'T', name("_text"), NONE),
        (0x100, 't', name("first"), NONE),
        (0x140, 'D', name("end"), NONE),
        (0x200, 't', name("own"), 0),
        (0x300, 'd', name("one"), 1),
    ];
    assert_eq!(shown(&list), wanted);
    assert_eq!(list.names, b"_text\nfirst\nend\nown\none\n");
    assert_eq!(list.pack().unwrap().unpack().unwrap(), list);
    all.keep_all();
    assert_eq!(all.symbols.len(), 9);
    assert_eq!(all.pack().unwrap().unpack().unwrap(), all);
}

#[test]
fn what_cannot_be_a_kernels_is_not_written() {
    for wrong in [
        list(&[(2, b't', "x", NONE), (1, b't', "y", NONE)]),
        list(&[(1, b't', "", NONE)]),
        list(&[(1, b't', "x\ny", NONE)]),
        list(&[(1, b't', "x", 0)]),
        list(&[(1, b't', &"x".repeat(5000), NONE)]),
    ] {
        assert!(matches!(wrong.pack(), Err(PackError::Columns(_))), "{wrong:?}");
    }
}

fn encoded(packed: &PackedKernelList, order: ByteOrder) -> Vec<Vec<u8>> {
    let one = |part: KernelListPart<'_>| {
        let mut bytes = Vec::new();
        part.encode(&mut ByteWriter::new(&mut bytes, order));
        bytes
    };
    packed.parts().map(one).collect()
}

/// Names that zstd finds nothing in, so that there are several parts.
fn large() -> PackedKernelList {
    let mut word = 1_u64;
    let mut many = KernelList::default();
    for address in 0..20_000 {
        word = word.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let name = format!("{word:x}");
        let (start, length) = (many.names.len(), name.len());
        many.names.extend_from_slice(name.as_bytes());
        many.names.push(b'\n');
        let (name, length) = (u32::try_from(start).unwrap(), u16::try_from(length).unwrap());
        many.symbols.push(KernelSymbol { address, name, length, module: NONE, kind: b't' });
    }
    many.pack().unwrap()
}

#[test]
fn parts_in_order_make_a_whole() {
    let packed = large();
    for order in [ByteOrder::Little, ByteOrder::Big] {
        let records = encoded(&packed, order);
        assert!(records.len() > 2 && records.iter().all(|record| record.len() < 65_000));
        let part = |at: usize| KernelListPart::decode(&records[at], order).unwrap();
        let mut assembler = KernelListAssembler::default();
        let mut whole = None;
        for at in 0..records.len() {
            assert_eq!(whole, None);
            whole = assembler.add(part(at)).unwrap();
        }
        let whole = whole.unwrap();
        assert_eq!(*whole, packed);
        assert_eq!(whole.unpack().unwrap().symbols.len(), 20_000);
        // One that is missing takes those after it along, and no later list.
        assert_eq!(assembler.add(part(0)), Ok(None));
        let torn = assembler.add(part(2)).unwrap_err();
        assert_eq!((torn.missing, torn.offset), (49_152, 98_304));
        assert!(assembler.add(part(1)).is_err());
        assert_eq!(assembler.add(part(0)), Ok(None));
        assert_eq!(assembler.add(part(0)), Ok(None));
        assert_eq!(assembler.add(part(1)), Ok(None));
    }
}

#[test]
fn a_newer_form_says_so() {
    let error = KernelListPart::decode(b"kernel_symbols=2\0\0\0\0\0\0\0\0", ByteOrder::Little);
    let text = error.unwrap_err().to_string();
    assert!(text.contains("kernel_symbols=2"), "{text}");
}

#[test]
fn sizes_are_not_believed() {
    // 60 MiB of zeros in few bytes.
    let mut bytes = Vec::with_capacity(1 << 20);
    zstd_safe::compress(&mut bytes, &vec![0_u8; 60 << 20], 1).unwrap();
    let error = PackedKernelList::of(bytes).unpack().unwrap_err();
    assert!(matches!(error, UnpackError::Size { unpacked: 62_914_560, .. }), "{error}");
    assert!(parts(&[]).next().is_none());
}

#[test]
fn every_damaged_byte_is_noticed() {
    let mut small = list(&[(1, b't', "one", NONE), (2, b't', "two", NONE)]);
    small.build_id = vec![1; 20];
    let packed = small.pack().unwrap();
    for at in 0..packed.size() {
        let mut bytes = packed.bytes().to_vec();
        bytes[at] ^= 1;
        let read = PackedKernelList::of(bytes).unpack();
        assert!(read.is_err() || read == Ok(small.clone()), "byte {at}: {read:?}");
    }
}

proptest! {
    #[test]
    fn any_bytes_are_a_list_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(list) = columns::read(&bytes) {
            let mut again = Vec::new();
            columns::write(&list, &mut again).unwrap();
            prop_assert_eq!(columns::read(&again), Ok(list));
        }
    }
}
