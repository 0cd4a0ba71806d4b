//! Any bytes as what a recording keeps of its kernel's symbols, in parts cut
//! anywhere: no panic; what is read has symbols in order, each with its name,
//! and is packed and read again the same.
//!
//! Input: a byte (bit 0: byte order, bit 1: the rest are columns to be packed
//! first, else they are taken for a part), then the bytes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use perfdata::ByteOrder;
use perfdata::kernel_list::{KernelListPart, PackedKernelList};

/// What a list must be, wherever it comes from.
fn check(packed: &PackedKernelList) {
    let list = match packed.unpack() {
        Ok(list) => list,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    assert!(list.symbols.is_sorted_by_key(|symbol| symbol.address));
    for symbol in &list.symbols {
        assert!(!list.name(symbol).is_empty());
    }
    let again = list.pack().unwrap();
    assert_eq!(again.unpack().unwrap(), list);
    let parts: Vec<_> = again.parts().collect();
    assert_eq!(PackedKernelList::joined(&parts).as_ref(), Some(&again));
    // Less of it names no less.
    let mut code = list;
    code.keep_code();
    assert_eq!(code.pack().unwrap().unpack().unwrap(), code);
}

fuzz_target!(|input: &[u8]| {
    let Some((choice, bytes)) = input.split_first() else { return };
    if choice & 2 == 2 {
        return check(&PackedKernelList::of_columns(bytes));
    }
    let order = if choice & 1 == 0 { ByteOrder::Little } else { ByteOrder::Big };
    match KernelListPart::decode(bytes, order) {
        Ok(part) => {
            if let Some(packed) = PackedKernelList::joined(&[part]) {
                check(&packed);
            }
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
