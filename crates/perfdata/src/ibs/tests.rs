use super::*;
use crate::DataSrc;
use crate::sample_filter::{IbsCondition, SourceCondition};
use proptest::prelude::{any, prop, prop_assert, prop_assert_eq, proptest};

const ZEN3: &str = "AuthenticAMD,25,1,1";
/// CPUID 8000001B EAX of Zen 2, Zen 4 and Zen 5 machines.
const ZEN2_CAPS: u32 = 0x3ff;
const ZEN4_CAPS: u32 = 0xbff;

fn payload(caps: u32, registers: &[u64]) -> Vec<u8> {
    let words = registers.iter().flat_map(|register| register.to_le_bytes());
    caps.to_le_bytes().into_iter().chain(words).collect()
}

fn op(caps: u32, data: u64, data2: u64, data3: u64) -> IbsOp {
    IbsOp { caps: IbsCaps(caps), data, data2, data3, ..load_of_zen2() }
}

/// A load of 8 bytes that missed L1 and L2 and came from another node's DRAM
/// after 0x1234 cycles.
fn load_of_zen2() -> IbsOp {
    let bytes = payload(
        ZEN2_CAPS,
        &[
            0x0000_0011_000f_4240,
            0x0000_5566_7788_99aa,
            0x0000_0000_0300_0022,
            0x13,
            0x0040_1234_0516_0081,
            0x0000_7fff_0000_1238,
            0x0000_0001_2345_6238,
            0x0000_5566_0000_0000,
        ],
    );
    IbsOp::decode(&bytes, ByteOrder::Little).unwrap()
}

#[test]
fn each_register_is_read_from_its_place() {
    let op = load_of_zen2();
    assert_eq!(op.caps, IbsCaps(ZEN2_CAPS));
    assert_eq!(op.ctl, 0x11_000f_4240);
    assert_eq!(op.rip, 0x5566_7788_99aa);
    assert_eq!(op.data, 0x0300_0022);
    assert_eq!(op.data2, 0x13);
    assert_eq!(op.data3, 0x0040_1234_0516_0081);
    assert_eq!(op.linear_address(), Some(0x7fff_0000_1238));
    assert_eq!(op.physical_address(), Some(0x1_2345_6238));
    assert_eq!(op.branch_target, Some(0x5566_0000_0000));
    assert_eq!((op.data4, op.unknown), (None, 0));
    assert_eq!(op.period(), 0x4240 << 4);
    assert!(op.counts_ops());
    assert_eq!((op.completion_to_retire(), op.tag_to_retire()), (0x22, 0x300));
    assert!(op.ld_op() && !op.st_op() && op.dc_miss() && op.l2_miss());
    assert!(!op.rip_invalid() && !op.brn_ret() && !op.microcode());
    assert_eq!(op.memory_width(), Some(8));
    assert_eq!(op.dc_miss_lat(), Some(0x1234));
    assert_eq!(op.tlb_refill_lat(), None);
    assert_eq!(op.open_memory_requests(), 1);
    let quirks = IbsErrata::default();
    assert_eq!(op.source(quirks), Some(IbsSource::Dram));
    assert_eq!(op.remote_node(quirks), Some(true));
    assert_eq!(op.modified_elsewhere(quirks), None);
}

#[test]
fn capabilities_tell_which_registers_follow() {
    let registers: Vec<u64> = (0..9).map(|n| 1 << 18 | n).collect();
    for (caps, count, target, data4) in [
        (0x1f, 7, None, None),
        (0x3f, 8, Some(7), None),
        (0x41f, 8, None, Some(7)),
        (0x43f, 9, Some(7), Some(8)),
    ] {
        let bytes = payload(caps, &registers[..count]);
        assert_eq!(bytes.len(), 4 + 8 * count);
        let op = IbsOp::decode(&bytes, ByteOrder::Little).unwrap();
        let word = |n: u64| 1 << 18 | n;
        assert_eq!(op.branch_target, target.map(word), "{caps:#x}");
        assert_eq!(op.data4, data4.map(word), "{caps:#x}");
        assert_eq!(op.phys_addr, word(6));
        assert_eq!(op.unknown, 0);
        for short in 0..bytes.len() {
            assert!(IbsOp::decode(&bytes[..short], ByteOrder::Little).is_err(), "{short}");
        }
    }
}

#[test]
fn registers_of_a_newer_kernel_are_left_alone_and_odd_bytes_refused() {
    let mut bytes = payload(0x1f, &[1 << 18; 9]);
    assert_eq!(IbsOp::decode(&bytes, ByteOrder::Little).unwrap().unknown, 2);
    bytes.push(0);
    assert_eq!(IbsOp::decode(&bytes, ByteOrder::Little), Err(IbsError::Odd { left: 17 }));
}

#[test]
fn what_is_no_op_is_refused() {
    let decode = |caps, ctl| IbsOp::decode(&payload(caps, &[ctl; 9]), ByteOrder::Little);
    assert_eq!(decode(0x3fe, 1 << 18), Err(IbsError::NoCaps { caps: 0x3fe }));
    assert_eq!(decode(0x3ff, 1 << 17), Err(IbsError::NotValid { ctl: 1 << 17 }));
    // What ibs_fetch gives: three registers.
    let fetch = payload(ZEN2_CAPS, &[0x0007_0000_0004_0000, 0x1000, 0x2000]);
    assert!(matches!(IbsOp::decode(&fetch, ByteOrder::Little), Err(IbsError::Short(_))));
    assert!(IbsOp::decode(&[], ByteOrder::Little).is_err());
}

/// One bit at a time: exactly the accessor it belongs to changes.
#[test]
fn every_flag_is_its_own_bit() {
    type Flag = (u32, fn(&IbsOp) -> bool);
    let branch: [Flag; 7] = [
        (34, IbsOp::brn_return),
        (35, IbsOp::brn_taken),
        (36, IbsOp::brn_misp),
        (37, IbsOp::brn_ret),
        (38, IbsOp::rip_invalid),
        (39, IbsOp::brn_fuse),
        (40, IbsOp::microcode),
    ];
    for (place, flag) in branch {
        // The first three mean something only with bit 37.
        assert!(flag(&op(ZEN2_CAPS, 1 << place | 1 << 37, 0, 0)), "{place}");
        assert_eq!(flag(&op(ZEN2_CAPS, 1 << place, 0, 0)), place >= 37, "{place}");
        assert!(!flag(&op(ZEN2_CAPS, !(1 << place), 0, 0)), "{place}");
    }
    // Neither is told without its capability.
    assert!(!op(1, 1 << 38, 0, 0).rip_invalid() && !op(1, 1 << 39, 0, 0).brn_fuse());
    let memory: [Flag; 14] = [
        (0, IbsOp::ld_op),
        (1, IbsOp::st_op),
        (2, IbsOp::dc_l1_tlb_miss),
        (3, IbsOp::dc_l2_tlb_miss),
        (7, IbsOp::dc_miss),
        (8, IbsOp::dc_mis_acc),
        (13, IbsOp::dc_wc_mem_acc),
        (14, IbsOp::dc_uc_mem_acc),
        (15, IbsOp::dc_locked_op),
        (16, IbsOp::dc_miss_no_mab_alloc),
        (17, IbsOp::lin_addr_valid),
        (18, IbsOp::phys_addr_valid),
        (20, IbsOp::l2_miss),
        (21, IbsOp::sw_pf),
    ];
    for (place, flag) in memory {
        assert!(flag(&op(ZEN2_CAPS, 0, 0, 1 << place)), "{place}");
        assert!(!flag(&op(ZEN2_CAPS, 0, 0, !(1 << place))), "{place}");
    }
}

#[test]
fn numbers_are_cut_out_whole() {
    let all = op(ZEN2_CAPS, u64::MAX, u64::MAX, u64::MAX);
    assert_eq!((all.completion_to_retire(), all.tag_to_retire()), (u16::MAX, u16::MAX));
    assert_eq!((all.dc_miss_lat(), all.tlb_refill_lat()), (Some(u16::MAX), Some(u16::MAX)));
    assert_eq!(all.open_memory_requests(), 63);
    assert_eq!(all.memory_width(), Some(1 << 14));
    assert_eq!(op(ZEN2_CAPS, 0, 0, !(0xf << 22)).memory_width(), None);
    let long = IbsOp { ctl: 0x07f0_ffff, ..all };
    assert_eq!(long.period(), 0x7f_ffff << 4);
    assert_eq!(IbsOp { caps: IbsCaps(1), ..long }.period(), 0xffff << 4);
    let l3_only = IbsOp { ctl: 1 << 16, ..all };
    assert!(!l3_only.l3_miss_only());
    assert!(IbsOp { caps: IbsCaps(ZEN4_CAPS), ..l3_only }.l3_miss_only());
}

/// A load that missed L1 and L2, with this IBS_OP_DATA2.
fn far_load(caps: u32, data2: u64) -> IbsOp {
    op(caps, 0, data2, 1 | 1 << 7 | 1 << 20)
}

#[test]
fn sources_are_those_of_the_manuals() {
    let none = IbsErrata::default();
    let early = [
        None,
        Some(IbsSource::Reserved(1)),
        Some(IbsSource::NearCache),
        Some(IbsSource::Dram),
        Some(IbsSource::FarCache),
        Some(IbsSource::Reserved(5)),
        Some(IbsSource::Reserved(6)),
        Some(IbsSource::Io),
    ];
    for (code, source) in (0..8).zip(early) {
        assert_eq!(far_load(ZEN2_CAPS, code).source(none), source);
        // Bits 7:6 say nothing before Zen 4.
        assert_eq!(far_load(ZEN2_CAPS, code | 0xc0).source(none), source);
    }
    for (data2, source) in [
        (0x01, IbsSource::NearCache),
        (0x02, IbsSource::OtherComplex),
        (0x03, IbsSource::Dram),
        (0x05, IbsSource::FarCache),
        (0x06, IbsSource::PersistentMemory),
        (0x07, IbsSource::Io),
        (0x40, IbsSource::ExtensionMemory),
        (0x44, IbsSource::PeerMemory),
        (0xc7, IbsSource::Reserved(31)),
    ] {
        assert_eq!(far_load(ZEN4_CAPS, data2).source(none), Some(source), "{data2:#x}");
    }
    // Stores and hits have none, and what DATA2 holds is left from before.
    for data3 in [2 | 1 << 7 | 1 << 20, 1, 1 | 1 << 7, 1 | 1 << 7 | 1 << 14 | 1 << 20] {
        assert_eq!(op(ZEN4_CAPS, 0, 3, data3).source(none), None, "{data3:#x}");
    }
}

#[test]
fn conditions_answer_for_the_type_they_stand_for() {
    let quirks = IbsErrata::default();
    let served = |op: IbsOp| {
        use SourceCondition::{Hitm, L1Miss, L2Miss, L3Miss, RemoteDram};
        [L1Miss, L2Miss, L3Miss, RemoteDram, Hitm].map(|condition| op.served(condition, quirks))
    };
    let [yes, no, open] = [Some(true), Some(false), None];
    assert_eq!(served(op(ZEN4_CAPS, 0, 0, 0)), [no; 5], "no access");
    assert_eq!(served(op(ZEN4_CAPS, 0, 3, 1)), [no; 5], "hit L1");
    assert_eq!(served(op(ZEN4_CAPS, 0, 3, 1 | 1 << 7)), [yes, no, no, no, no], "hit L2");
    assert_eq!(served(far_load(ZEN4_CAPS, 0x03)), [yes, yes, yes, no, no]);
    assert_eq!(served(far_load(ZEN4_CAPS, 0x13)), [yes, yes, yes, yes, no]);
    assert_eq!(served(far_load(ZEN4_CAPS, 0x21)), [yes, yes, no, no, no]);
    assert_eq!(served(far_load(ZEN4_CAPS, 0x01)), [yes, yes, no, no, yes]);
    assert_eq!(served(far_load(ZEN4_CAPS, 0x05)), [yes, yes, yes, no, yes]);
    assert_eq!(served(far_load(ZEN2_CAPS, 0x04)), [yes, yes, yes, no, open]);
    assert_eq!(served(far_load(ZEN4_CAPS, 0x00)), [yes, yes, open, open, open]);
    let store = op(ZEN4_CAPS, 0, 3, 2 | 1 << 7 | 1 << 20);
    assert_eq!(served(store), [yes, yes, open, open, open]);
    let uncached = op(ZEN4_CAPS, 0, 3, 1 | 1 << 7 | 1 << 14 | 1 << 20);
    assert_eq!(served(uncached), [no; 5]);
    assert_eq!(uncached.holds(IbsCondition::DcMiss, quirks), no);
    let load = load_of_zen2();
    for (condition, holds) in [
        (IbsCondition::LdOp, true),
        (IbsCondition::StOp, false),
        (IbsCondition::DcMiss, true),
        (IbsCondition::L2Miss, true),
        (IbsCondition::DcL1TlbMiss, false),
        (IbsCondition::LinAddrValid, true),
        (IbsCondition::BrnMisp, false),
    ] {
        assert_eq!(load.holds(condition, quirks), Some(holds), "{condition:?}");
    }
}

#[test]
fn errata_leave_open_what_they_spoil() {
    let zen3 = IbsErrata::of(Some(ZEN3), IbsCaps(ZEN2_CAPS));
    assert_eq!(zen3, IbsErrata { prefetch_source: true, cache_state: true });
    let prefetch = op(ZEN2_CAPS, 0, 0x3, 1 | 1 << 7 | 1 << 20 | 1 << 21);
    assert_eq!(prefetch.holds(IbsCondition::L2Miss, zen3), None);
    assert_eq!(prefetch.holds(IbsCondition::DcMiss, zen3), Some(true));
    assert_eq!(prefetch.source(zen3), None);
    assert_eq!(prefetch.served(SourceCondition::L3Miss, zen3), None);
    assert_eq!(far_load(ZEN2_CAPS, 3).holds(IbsCondition::L2Miss, zen3), Some(true));
    assert_eq!(far_load(ZEN2_CAPS, 2).served(SourceCondition::Hitm, zen3), None);

    let no_quirk = IbsErrata::default();
    assert_eq!(prefetch.holds(IbsCondition::L2Miss, no_quirk), Some(true));
    for (cpu_id, caps, quirks) in [
        (Some("AuthenticAMD,23,49,0"), ZEN2_CAPS, no_quirk),
        (Some("AuthenticAMD,25,17,1"), ZEN4_CAPS, no_quirk),
        (None, ZEN4_CAPS, no_quirk),
        (None, ZEN2_CAPS, zen3),
        (Some("AuthenticAMD"), ZEN2_CAPS, zen3),
        (
            Some("AuthenticAMD,25,33,0"),
            ZEN2_CAPS,
            IbsErrata { prefetch_source: false, cache_state: true },
        ),
    ] {
        assert_eq!(IbsErrata::of(cpu_id, IbsCaps(caps)), quirks, "{cpu_id:?}");
    }
}

proptest! {
    #[test]
    fn any_bytes_decode_or_are_refused(
        bytes in prop::collection::vec(any::<u8>(), 0..120),
        force in any::<bool>(),
    ) {
        let mut bytes = bytes;
        if force && bytes.len() > 12 {
            bytes[0] |= 1;
            bytes[6] |= 4;
        }
        if let Ok(op) = IbsOp::decode(&bytes, ByteOrder::Little) {
            let registers = 7
                + usize::from(op.branch_target.is_some())
                + usize::from(op.data4.is_some())
                + op.unknown;
            prop_assert_eq!(bytes.len(), 4 + 8 * registers);
            let quirks = IbsErrata::of(None, op.caps);
            prop_assert!(op.source(quirks).is_none() || op.ld_op());
        }
    }
}

/// Registers and what the kernel's own word of them reads as.
#[test]
fn the_data_source_is_the_kernels() {
    const LOAD: u64 = 1 | 1 << 17;
    const MISSED: u64 = LOAD | 1 << 7 | 1 << 20;
    let text = |caps, data2, data3| {
        let op = op(caps, 0, data2, data3);
        op.data_src(IbsErrata::of(Some(ZEN3), op.caps)).to_string()
    };
    let zen3 = |data2, data3| text(ZEN2_CAPS, data2, data3);
    let zen4 = |data2, data3| text(ZEN4_CAPS, data2, data3);
    for (registers, expected) in [
        (zen3(0, 0), "not available"),
        (zen3(0, LOAD), "load, L1 hit, TLB L1 hit"),
        (zen3(0, 1), "load, L1 hit"),
        (zen3(0, 2 | 1 << 17 | 1 << 15), "store, L1 hit, locked, TLB L1 hit"),
        (zen3(0, LOAD | 1 << 2), "load, L1 hit, TLB L2 hit"),
        (zen3(0, LOAD | 1 << 2 | 1 << 3), "load, L1 hit, TLB L2 miss"),
        (zen3(0, LOAD | 1 << 7), "load, L2 hit, TLB L1 hit"),
        (zen3(2, MISSED), "load, cache hit, TLB L1 hit"),
        (zen3(3, MISSED), "load, RAM hit, TLB L1 hit"),
        (zen3(0x13, MISSED), "load, RAM hit, another node, TLB L1 hit"),
        (zen3(4, MISSED), "load, cache hit, another node, TLB L1 hit"),
        (zen3(7, MISSED), "load, I/O hit, TLB L1 hit"),
        (zen3(3, MISSED | 1 << 14), "load, uncached hit, TLB L1 hit"),
        // Erratum 1293: neither L2 miss nor source can be trusted.
        (zen3(3, MISSED | 1 << 16), "load, LFB hit, TLB L1 hit"),
        (zen3(3, MISSED | 1 << 21), "load, TLB L1 hit"),
        (zen3(3, MISSED - LOAD + 2), "store"),
        // Bit 5 clear: modified, which Zen 3 does not tell.
        (zen4(1 | 1 << 5, MISSED), "load, L3 hit, TLB L1 hit"),
        (zen4(1, MISSED), "load, L3 hit, snoop hitm, TLB L1 hit"),
        (zen4(2 | 1 << 5, MISSED), "load, cache hit, another core, TLB L1 hit"),
        (zen4(5, MISSED), "load, cache hit, another node, snoop hitm, TLB L1 hit"),
        (zen4(6, MISSED), "load, PMEM, TLB L1 hit"),
        (zen4(0x10 | 1 << 6, MISSED), "load, CXL, another node, TLB L1 hit"),
        (zen4(0x44, MISSED), "load, TLB L1 hit"),
    ] {
        assert_eq!(registers, expected);
    }
    // Whole words, as perf_ibs_get_mem_lvl() and its neighbours fill them.
    let zen2 = load_of_zen2();
    assert_eq!(zen2.data_src(IbsErrata::default()), DataSrc(0x103a_2908_2042));
}
