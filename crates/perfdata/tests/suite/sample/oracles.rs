//! Samples and attrs against two published decoders, each for what it gets
//! right. Left out, because the decoder is wrong there (checked with the
//! byte arrays of this crate's own tests):
//!
//! linux-perf-event-reader 0.10.2
//! - READ: the group and the single form are swapped, LOST is not known;
//! - WEIGHT_STRUCT, CGROUP and branch counters are not consumed;
//! - AUX is read before the page sizes;
//! - weight and data_src are read and dropped;
//! - big-endian attrs: the bit fields are taken as plain words.
//!
//! perf-event-data 0.1.8
//! - WEIGHT_STRUCT and branch counters are not consumed;
//! - registers are read when the ABI is 0;
//! - an empty list at the very end of a record is taken for a cut one;
//! - a user stack is cut to its real size, and refused when that is larger.

use super::generate::{Values, attr, values};
use byteorder::{BigEndian, LittleEndian};
use linux_perf_event_reader as reader;
use perf_event_data as data;
use perf_event_open_sys::bindings::perf_event_attr;
use perfdata::attr::{Attr, SampleType};
use perfdata::bytes::ByteOrder;
use perfdata::registers::Registers;
use perfdata::{Misc, Sample};
use proptest::prelude::*;

const ALL: u64 = (1 << 25) - 1;
const HW_INDEX: u64 = 1 << 17;

fn without(bits: &[SampleType]) -> u64 {
    bits.iter().fold(ALL, |all, bit| all & !bit.bits())
}

/// What the reader crate makes of the attr's own bytes and the payload.
fn by_reader<'a>(
    attr: &Attr,
    order: ByteOrder,
    payload: &'a [u8],
) -> std::io::Result<reader::SampleRecord<'a>> {
    let mut bytes = Vec::new();
    attr.encode(136, order, &mut bytes).unwrap();
    let raw = reader::RawData::from(payload);
    match order {
        ByteOrder::Little => {
            let theirs = reader::PerfEventAttr::parse::<_, LittleEndian>(&bytes[..])?.0;
            let info = reader::RecordParseInfo::new(&theirs, reader::Endianness::LittleEndian);
            reader::SampleRecord::parse::<LittleEndian>(raw, 2, &info)
        }
        ByteOrder::Big => {
            let theirs = reader::PerfEventAttr::parse::<_, BigEndian>(&bytes[..])?.0;
            let info = reader::RecordParseInfo::new(&theirs, reader::Endianness::BigEndian);
            reader::SampleRecord::parse::<BigEndian>(raw, 2, &info)
        }
    }
}

/// What the data crate makes of them.
fn by_data<'a>(
    attr: &Attr,
    order: ByteOrder,
    payload: &'a [u8],
) -> data::parse::ParseResult<data::Sample<'a>> {
    let mut theirs = perf_event_attr::default();
    theirs.sample_type = attr.sample_type.bits();
    theirs.read_format = attr.read_format.bits();
    theirs.branch_sample_type = attr.branch_sample_type.bits();
    theirs.sample_regs_user = attr.sample_regs_user;
    theirs.sample_regs_intr = attr.sample_regs_intr;
    let config: data::parse::ParseConfig<data::endian::Little> = theirs.into();
    match order {
        ByteOrder::Little => data::parse::Parser::new(payload, config).parse(),
        ByteOrder::Big => {
            let config = config.with_endian(data::endian::Big);
            data::parse::Parser::new(payload, config).parse()
        }
    }
}

fn register_values(registers: Option<Registers<'_>>) -> Option<Vec<Option<u64>>> {
    let registers = registers.filter(|registers| registers.mask != 0)?;
    Some((0..64).map(|bit| registers.get(bit)).collect())
}

fn agrees_with_reader(ours: &Sample<'_>, theirs: &reader::SampleRecord<'_>) {
    assert_eq!(ours.identifier.or(ours.id), theirs.id);
    assert_eq!(ours.ip, theirs.ip);
    assert_eq!(ours.task.map(|task| task.pid.0), theirs.pid);
    assert_eq!(ours.task.map(|task| task.tid.0), theirs.tid);
    assert_eq!(ours.time.map(|time| time.0), theirs.timestamp);
    assert_eq!(ours.addr, theirs.addr);
    assert_eq!(ours.stream_id, theirs.stream_id);
    assert_eq!(ours.cpu.map(|cpu| cpu.0), theirs.cpu);
    assert_eq!(ours.period, theirs.period);
    let chain = theirs
        .callchain
        .map(|chain| (0..chain.len()).map(|at| chain.get(at).unwrap()).collect::<Vec<u64>>());
    assert_eq!(ours.callchain.map(|chain| chain.iter().collect::<Vec<u64>>()), chain);
    assert_eq!(ours.raw, theirs.raw.map(|raw| raw.as_slice()).as_deref());
    let registers = |registers: &Option<reader::Regs<'_>>| {
        registers.as_ref().map(|regs| (0..64).map(|bit| regs.get(bit)).collect::<Vec<_>>())
    };
    assert_eq!(register_values(ours.regs_user), registers(&theirs.user_regs));
    assert_eq!(register_values(ours.regs_intr), registers(&theirs.intr_regs));
    let stack = theirs.user_stack.map(|(stack, real)| (stack.as_slice(), real));
    assert_eq!(
        ours.stack_user.map(|stack| (stack.data, stack.dyn_size.unwrap_or(0))),
        stack.as_ref().map(|(stack, real)| (&stack[..], *real)),
    );
    assert_eq!(ours.phys_addr, theirs.phys_addr);
    assert_eq!(ours.data_page_size, theirs.data_page_size);
    assert_eq!(ours.code_page_size, theirs.code_page_size);
}

fn agrees_with_data(ours: &Sample<'_>, theirs: &data::Sample<'_>) {
    // Of two ids, the data crate keeps the later one.
    assert_eq!(ours.id.or(ours.identifier), theirs.id());
    assert_eq!(ours.ip, theirs.ip());
    assert_eq!(ours.task.map(|task| task.pid.0.cast_unsigned()), theirs.pid());
    assert_eq!(ours.task.map(|task| task.tid.0.cast_unsigned()), theirs.tid());
    assert_eq!(ours.time.map(|time| time.0), theirs.time());
    assert_eq!(ours.addr, theirs.addr());
    assert_eq!(ours.stream_id, theirs.stream_id());
    assert_eq!(ours.cpu.map(|cpu| cpu.0), theirs.cpu());
    assert_eq!(ours.period, theirs.period());
    if let (Some(ours), Some(theirs)) = (&ours.read, theirs.values()) {
        assert_eq!(ours.time_enabled, theirs.time_enabled());
        assert_eq!(ours.time_running, theirs.time_running());
        let members: Vec<_> =
            theirs.entries().map(|entry| (entry.value(), entry.id(), entry.lost())).collect();
        let own: Vec<_> = ours.values.iter().map(|v| (v.value, v.id, v.lost)).collect();
        assert_eq!(own, members);
    }
    assert_eq!(ours.read.is_some(), theirs.values().is_some());
    let chain = ours.callchain.map(|chain| chain.iter().collect::<Vec<u64>>());
    assert_eq!(chain.as_deref(), theirs.callchain());
    assert_eq!(ours.raw, theirs.raw());
    assert_eq!(ours.branch_stack.and_then(|stack| stack.hw_index), theirs.lbr_hw_index());
    let branches = ours
        .branch_stack
        .map(|stack| stack.branches().map(|branch| (branch.from, branch.to)).collect::<Vec<_>>());
    let entries = theirs.lbr().map(|lbr| lbr.iter().map(|b| (b.from(), b.to())).collect());
    assert_eq!(branches, entries);
    let words = |registers: Option<Registers<'_>>| {
        registers.map(|registers| registers.words.iter().collect::<Vec<u64>>())
    };
    assert_eq!(words(ours.regs_user).as_deref(), theirs.regs_user().map(|regs| &regs.regs[..]));
    assert_eq!(words(ours.regs_intr).as_deref(), theirs.regs_intr().map(|regs| &regs.regs[..]));
    assert_eq!(ours.weight.map(|weight| weight.to_word()), theirs.weight());
    assert_eq!(ours.transaction, theirs.transaction().map(|txn| txn.bits()));
    assert_eq!(ours.phys_addr, theirs.phys_addr());
    assert_eq!(ours.cgroup, theirs.cgroup());
    assert_eq!(ours.data_page_size, theirs.data_page_size());
    assert_eq!(ours.code_page_size, theirs.code_page_size());
    assert_eq!(ours.aux, theirs.aux());
    if let (Some(ours), Some(theirs)) = (ours.data_src, theirs.data_src()) {
        assert_eq!(u64::from(ours.operation().bits()), theirs.mem_op().bits() & !1);
        assert_eq!(ours.is_locked(), theirs.mem_lock().bits() & 2 != 0);
        assert_eq!(u64::from(ours.tlb().bits()), theirs.mem_dtlb().bits() & !1);
    }
}

fn any_order() -> impl Strategy<Value = ByteOrder> {
    prop::sample::select(vec![ByteOrder::Little, ByteOrder::Big])
}

fn decoded<'a>(attr: &Attr, order: ByteOrder, payload: &'a [u8]) -> Sample<'a> {
    super::generate::layout(attr, order).decode(Misc(2), payload).unwrap()
}

proptest! {
    #[test]
    fn as_linux_perf_event_reader(
        values in values(),
        fields in 0u64..1 << 25,
        hw_index in any::<bool>(),
        order in any_order(),
    ) {
        let mut fields = fields & without(&[
            SampleType::READ,
            SampleType::WEIGHT_STRUCT,
            SampleType::CGROUP,
        ]);
        let pages = SampleType::DATA_PAGE_SIZE | SampleType::CODE_PAGE_SIZE;
        if fields & pages.bits() != 0 {
            fields &= without(&[SampleType::AUX]);
        }
        let branch = if hw_index { HW_INDEX } else { 0 };
        let attr = attr(SampleType::from_bits_retain(fields), 0, branch);
        let bytes = values.bytes(&attr, order);
        let theirs = by_reader(&attr, order, &bytes.payload).unwrap();
        agrees_with_reader(&decoded(&attr, order, &bytes.payload), &theirs);
    }

    #[test]
    fn as_perf_event_data(
        values in values(),
        fields in 0u64..1 << 25,
        read_format in 0u64..32,
        hw_index in any::<bool>(),
        order in any_order(),
    ) {
        let mut values: Values = values;
        values.abi = values.abi.map(|abi| abi.max(1));
        values.plain[14] = values.stack.len() as u64;
        let fields = fields & without(&[SampleType::WEIGHT_STRUCT]);
        let branch = if hw_index { HW_INDEX } else { 0 };
        let attr = attr(SampleType::from_bits_retain(fields), read_format, branch);
        let bytes = values.bytes(&attr, order);
        let padded = [&bytes.payload[..], &[0; 8]].concat();
        let theirs = by_data(&attr, order, &padded).unwrap();
        agrees_with_data(&decoded(&attr, order, &bytes.payload), &theirs);
    }

    #[test]
    fn attrs_as_linux_perf_event_reader(
        words in any::<[u64; 18]>(),
        size in prop::sample::select(vec![64u32, 72, 80, 96, 104, 112, 120, 128, 136, 144]),
    ) {
        let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        bytes.truncate(size as usize);
        bytes[..8].copy_from_slice(&(4 | u64::from(size) << 32).to_le_bytes());
        if let Some(reserved) = bytes.get_mut(110..112) {
            reserved.fill(0);
        }
        // Their clock ids are a closed set.
        bytes[43] &= !2;
        let ours = Attr::decode(&bytes, ByteOrder::Little).unwrap();
        let (theirs, read) = reader::PerfEventAttr::parse::<_, LittleEndian>(&bytes[..]).unwrap();
        prop_assert_eq!(read, u64::from(size));
        prop_assert_eq!(ours.sample_type.bits() & ((1 << 25) - 1), theirs.sample_format.bits() & ((1 << 25) - 1));
        prop_assert_eq!(ours.read_format.bits() & theirs.read_format.bits(), theirs.read_format.bits());
        prop_assert_eq!(ours.flags.bits() & theirs.flags.bits(), theirs.flags.bits());
        prop_assert_eq!(ours.precise_ip(), (theirs.flags.bits() >> 15 & 3) as u8);
        prop_assert_eq!(ours.branch_sample_type.bits() & theirs.branch_sample_format.bits(), theirs.branch_sample_format.bits());
        prop_assert_eq!(ours.sample_regs_user, theirs.sample_regs_user);
        prop_assert_eq!(ours.sample_stack_user, theirs.sample_stack_user);
        prop_assert_eq!(ours.sample_regs_intr, theirs.sample_regs_intr);
        prop_assert_eq!(ours.aux_watermark, theirs.aux_watermark);
        prop_assert_eq!(ours.sample_max_stack, theirs.sample_max_stack);
        prop_assert_eq!(ours.aux_sample_size, theirs.aux_sample_size);
        prop_assert_eq!(ours.sig_data, theirs.sig_data);
    }
}
