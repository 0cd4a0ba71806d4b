use super::*;

fn blob(types: &[u32], strings: &[u8]) -> Vec<u8> {
    let size = |count: usize| u32::try_from(count).unwrap();
    let mut blob = vec![0x9f, 0xeb, 1, 0];
    let header = [24, 0, size(types.len() * 4), size(types.len() * 4), size(strings.len())];
    blob.extend(header.iter().chain(types).flat_map(|word| word.to_le_bytes()));
    blob.extend(strings);
    blob
}

fn info(kind: u32, count: u32, flag: u32) -> u32 {
    flag << 31 | kind << 24 | count
}

#[test]
fn members_and_bit_fields_of_both_forms_are_read() {
    let strings = b"\0int\0a\0b\0node\0old\0";
    let int = [1, info(1, 0, 0), 4, 1 << 24 | 32];
    let narrow = [1, info(1, 0, 0), 4, 3 << 16 | 5];
    let node = [9, info(4, 2, 1), 8, 5, 1, 0, 7, 1, 7 << 24 | 37];
    let old = [14, info(4, 1, 0), 4, 5, 2, 8];
    let types = [&int[..], &narrow, &node, &old].concat();
    let table = read(&blob(&types, strings)).unwrap();
    assert!(table.notes().is_empty(), "{:?}", table.notes());
    let node = table.named("struct node")[0];
    assert_eq!(table.size_of(node), Some(8));
    let TypeKind::Composite(composite) = &table.get(node).kind else { panic!() };
    let members: Vec<_> = table.members(composite).map(|id| table.member(id).clone()).collect();
    assert_eq!((members[0].bit, members[0].bits), (Some(0), None));
    assert_eq!((members[1].bit, members[1].bits), (Some(37), Some(7)));
    let TypeKind::Composite(composite) = &table.get(table.named("old")[0]).kind else { panic!() };
    let member = table.member(table.members(composite).next().unwrap());
    assert_eq!((member.bit, member.bits), (Some(11), Some(5)));
}

#[test]
fn damage_is_told() {
    assert_eq!(read(b"ELF").unwrap_err(), BtfError::Magic);
    let mut beyond = blob(&[], b"\0");
    beyond[12] = 200;
    assert!(matches!(read(&beyond), Err(BtfError::Header("a list of types", _))));
    assert_eq!(read(&blob(&[], b"x\0")).unwrap_err(), BtfError::Split);
    let unknown = read(&blob(&[0, info(30, 0, 0), 0], b"\0")).unwrap();
    assert!(unknown.notes()[0].contains("kind 30"), "{:?}", unknown.notes());
}
