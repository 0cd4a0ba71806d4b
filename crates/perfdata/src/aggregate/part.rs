//! Bytes of an aggregate: what one record of a stream holds of it.

use std::sync::Arc;

use super::{Bits, MOST_CHAIN_WORDS, RESERVOIR, Range, RegisterBits, SampledHit, Site, Strides};
use crate::bytes::{ByteOrder, ByteWriter, Cursor, Short};
use crate::header::{RecordHeader, RecordType, UpdateKind};
use crate::{Cpu, CpuMode, Pid, Tid, Time};

/// What the text of a record begins with that holds a part.
pub const TEXT: &[u8] = b"aggregate=";
/// Most bytes of a text with its NUL.
const LONGEST: usize = 48;
/// Bytes that the sites of one part take at most: with front, head and causes
/// less than a record's 65,535.
pub(super) const ROOM: usize = 40_000;
/// Most causes of loss, and longest name of one.
const CAUSES: usize = 256;
const CAUSE: usize = 64;

const LAST: u32 = 1;
const PROCESS: u8 = 1;
const ADDRESS: u8 = 2;
const STRIDES: u8 = 4;
const CALLERS: u8 = 8;

/// Some sites of an aggregate: one record has not room for all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AggregatePart {
    /// Begin of the aggregate's interval.
    pub from: Time,
    pub to: Time,
    /// Parts of this aggregate before this one.
    pub number: u32,
    /// Whether it has no more.
    pub is_last: bool,
    /// All causes of loss in the first part, none in others.
    pub lost: Vec<(String, u64)>,
    pub sites: Vec<Site>,
}

/// Why bytes are no part, or a part cannot be written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AggregatePartError {
    #[error(
        "an aggregate of a version not known here (its text is {text:?}); report it with the ebs that recorded it"
    )]
    Version { text: String },
    #[error("an aggregate: {0}")]
    Short(#[from] Short),
    #[error("an aggregate whose {what} is {value}, which cannot be")]
    Impossible { what: &'static str, value: u64 },
    #[error(
        "an aggregate with {0:?} as a cause of loss, which must be 1 to 64 of a-z, 0-9, _ and ."
    )]
    Cause(String),
}

fn impossible(what: &'static str, value: u64) -> AggregatePartError {
    AggregatePartError::Impossible { what, value }
}

fn require(holds: bool, what: &'static str, value: u64) -> Result<(), AggregatePartError> {
    if holds { Ok(()) } else { Err(impossible(what, value)) }
}

impl AggregatePart {
    /// Reads what follows type and id of an EVENT_UPDATE whose text begins
    /// with [`TEXT`]. Bytes that no recorder writes are refused whole.
    ///
    /// # Errors
    /// Another version, bytes that end early or go on, values that no hits
    /// have: none counted, a begin after its end, a bit that was always and
    /// never 1.
    pub fn decode(bytes: &[u8], order: ByteOrder) -> Result<AggregatePart, AggregatePartError> {
        let mut c = Cursor::new(bytes, order);
        let Front { samples, version } = front(&mut c)?;
        let (from, to) = interval(&mut c, "begin")?;
        let (number, flags) = (c.u32()?, c.u32()?);
        require(flags <= LAST, "flag word", u64::from(flags))?;
        let (causes, sites) = (c.u32()?, c.u32()?);
        require(number == 0 || causes == 0, "number of causes", u64::from(causes))?;
        let causes = usize::try_from(causes).unwrap_or(usize::MAX);
        require(causes <= CAUSES, "number of causes", causes as u64)?;
        let lost = (0..causes).map(|_| cause(&mut c)).collect::<Result<_, _>>()?;
        let sites = (0..sites).map(|_| site(&mut c)).collect::<Result<Vec<_>, _>>()?;
        let needed = Version::of(&sites);
        require(version == needed, "version", u64::from(version == Version::Callers))?;
        require(c.left() == 0, "number of bytes left over", c.left() as u64)?;
        let part = AggregatePart { from, to, number, is_last: flags == LAST, lost, sites };
        require(part.samples() == samples, "number of samples in its text", samples)?;
        Ok(part)
    }

    /// Hits in its sites.
    pub fn samples(&self) -> u64 {
        self.sites.iter().fold(0, |sum, site| sum.saturating_add(site.count))
    }

    /// Appends the bytes that [`AggregatePart::decode`] reads, a multiple of 8.
    ///
    /// # Errors
    /// What decoding would refuse.
    pub fn encode(&self, order: ByteOrder, out: &mut Vec<u8>) -> Result<(), AggregatePartError> {
        require(self.from <= self.to, "begin", self.from.0)?;
        require(self.lost.len() <= CAUSES, "number of causes", self.lost.len() as u64)?;
        require(
            self.number == 0 || self.lost.is_empty(),
            "number of causes",
            self.lost.len() as u64,
        )?;
        let count =
            |of: usize| u32::try_from(of).map_err(|_| impossible("number of sites", of as u64));
        let (causes, sites) = (count(self.lost.len())?, count(self.sites.len())?);
        let mut w = ByteWriter::new(out, order);
        let start = w.len();
        w.raw(Version::of(&self.sites).text().as_bytes());
        w.raw(self.samples().to_string().as_bytes());
        w.u8(0);
        w.pad(start, 8);
        w.u64(self.from.0);
        w.u64(self.to.0);
        w.u32(self.number);
        w.u32(if self.is_last { LAST } else { 0 });
        w.u32(causes);
        w.u32(sites);
        for (cause, count) in &self.lost {
            put_cause(&mut w, cause, *count)?;
        }
        self.sites.iter().try_for_each(|site| put_site(&mut w, site))
    }
}

/// Hits that a whole record counts, its header included, when it is an
/// EVENT_UPDATE with a part of an aggregate: read from its text alone, for
/// who passes records on and accounts for them.
pub fn samples_of(record: &[u8], order: ByteOrder) -> Option<u64> {
    let mut c = Cursor::new(record, order);
    let header = RecordHeader::decode(&mut c).ok()?;
    let kind = c.u64().ok()?;
    c.u64().ok()?;
    if header.kind != RecordType::EVENT_UPDATE || kind != UpdateKind::UNIT.0 {
        return None;
    }
    front(&mut c).ok().map(|front| front.samples)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    First,
    /// Sites have callers, too: who knows the first version alone refuses it.
    Callers,
}

impl Version {
    fn of(sites: &[Site]) -> Version {
        let has_callers = sites.iter().any(|site| site.chain.is_some());
        if has_callers { Version::Callers } else { Version::First }
    }

    /// What its text begins with: hits follow in decimal digits.
    fn text(self) -> &'static str {
        match self {
            Version::First => "aggregate=1;samples=",
            Version::Callers => "aggregate=2;samples=",
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Front {
    samples: u64,
    version: Version,
}

/// The text, read with the zeroes behind it.
fn front(c: &mut Cursor<'_>) -> Result<Front, AggregatePartError> {
    let bytes = c.clone().rest();
    let bytes = &bytes[..bytes.len().min(LONGEST)];
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    let text = String::from_utf8_lossy(&bytes[..end]).into_owned();
    // Digits alone, and none that is not needed: one spelling of each number.
    let of = |version: Version| {
        let digits = text.strip_prefix(version.text())?;
        let samples = digits.parse::<u64>().ok().filter(|number| number.to_string() == digits);
        samples.map(|samples| Front { samples, version })
    };
    let front = of(Version::First).or_else(|| of(Version::Callers));
    let Some(front) = front else { return Err(AggregatePartError::Version { text }) };
    let padding = c.take((end + 1).next_multiple_of(8))?.iter().skip(end);
    require(padding.clone().all(|&byte| byte == 0), "text's end", end as u64)?;
    Ok(front)
}

/// Bytes that a site takes in a part.
pub(super) fn size(site: &Site) -> usize {
    let strides = site
        .strides
        .as_ref()
        .map_or(0, |strides| 8 + 16 * strides.0.iter().filter(|&&n| n > 0).count());
    let address = if site.address.is_some() { 32 } else { 0 };
    let chain = site.chain.as_ref().map_or(0, |chain| 8 + 8 * chain.len());
    72 + address
        + chain
        + 16 * site.registers.len()
        + site.taken.len() * (56 + 8 * site.registers.len())
        + strides
}

fn interval(c: &mut Cursor<'_>, what: &'static str) -> Result<(Time, Time), AggregatePartError> {
    let (from, to) = (c.u64()?, c.u64()?);
    require(from <= to, what, from)?;
    Ok((Time(from), Time(to)))
}

fn bits(c: &mut Cursor<'_>, what: &'static str) -> Result<Bits, AggregatePartError> {
    let (all, any) = (c.u64()?, c.u64()?);
    require(all & !any == 0, what, all & !any)?;
    Ok(Bits { all, any })
}

fn put_bits(
    w: &mut ByteWriter<'_>,
    bits: Bits,
    what: &'static str,
) -> Result<(), AggregatePartError> {
    require(bits.all & !bits.any == 0, what, bits.all & !bits.any)?;
    w.u64(bits.all);
    w.u64(bits.any);
    Ok(())
}

fn is_cause(name: &[u8]) -> bool {
    let is_sign = |byte: &u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'.');
    (1..=CAUSE).contains(&name.len()) && name.iter().all(is_sign)
}

fn cause(c: &mut Cursor<'_>) -> Result<(String, u64), AggregatePartError> {
    let (count, length) = (c.u64()?, c.u64()?);
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    require(length <= CAUSE, "length of a cause's name", length as u64)?;
    let padded = c.take(length.next_multiple_of(8))?;
    let (name, padding) = padded.split_at(length);
    if !is_cause(name) || padding.iter().any(|&byte| byte != 0) {
        return Err(AggregatePartError::Cause(String::from_utf8_lossy(name).into_owned()));
    }
    Ok((String::from_utf8_lossy(name).into_owned(), count))
}

fn put_cause(w: &mut ByteWriter<'_>, name: &str, count: u64) -> Result<(), AggregatePartError> {
    if !is_cause(name.as_bytes()) {
        return Err(AggregatePartError::Cause(name.to_owned()));
    }
    w.u64(count);
    w.u64(name.len() as u64);
    let start = w.len();
    w.raw(name.as_bytes());
    w.pad(start, 8);
    Ok(())
}

fn site(c: &mut Cursor<'_>) -> Result<Site, AggregatePartError> {
    let process = Pid(c.i32()?);
    let (mode, flags, taken, zero) = (c.u8()?, c.u8()?, c.u8()?, c.u8()?);
    require(mode <= 5, "privilege level", u64::from(mode))?;
    let known = PROCESS | ADDRESS | STRIDES | CALLERS;
    require(flags <= known && zero == 0, "flag byte", u64::from(flags))?;
    let process = if flags & PROCESS == 0 {
        require(process.0 == 0, "process", u64::from(process.0.cast_unsigned()))?;
        None
    } else {
        Some(process)
    };
    let (ip, count, period) = (c.u64()?, c.u64()?, c.u64()?);
    require(count > 0, "count of a site", count)?;
    require(
        usize::from(taken) <= RESERVOIR && u64::from(taken) <= count,
        "number of hits taken",
        u64::from(taken),
    )?;
    let (first, last) = interval(c, "first hit")?;
    let mask = c.u64()?;
    let pids = bits(c, "bits of a process")?;
    let address = if flags & ADDRESS == 0 { None } else { Some(range(c)?) };
    let numbers = (0..u64::BITS).filter(|number| mask >> number & 1 == 1);
    let register = |number| Ok(RegisterBits { number, bits: bits(c, "bits of a register")? });
    let registers = numbers.map(register).collect::<Result<Vec<_>, AggregatePartError>>()?;
    let taken = (0..taken).map(|_| hit(c, registers.len())).collect::<Result<_, _>>()?;
    let strides = if flags & STRIDES == 0 { None } else { Some(Box::new(strides(c, count)?)) };
    let chain = if flags & CALLERS == 0 { None } else { Some(chain(c)?) };
    let mode = CpuMode::from_bits(u16::from(mode));
    Ok(Site {
        process,
        pids,
        ip,
        mode,
        count,
        period,
        first,
        last,
        address,
        registers,
        taken,
        strides,
        chain,
    })
}

fn chain(c: &mut Cursor<'_>) -> Result<Arc<[u64]>, AggregatePartError> {
    let words = c.u64()?;
    require(words <= MOST_CHAIN_WORDS as u64, "number of words of a chain", words)?;
    Ok(c.words(words)?.iter().collect())
}

fn range(c: &mut Cursor<'_>) -> Result<Range, AggregatePartError> {
    let (min, max) = (c.u64()?, c.u64()?);
    require(min <= max, "lowest address", min)?;
    Ok(Range { min, max, bits: bits(c, "bits of an address")? })
}

fn hit(c: &mut Cursor<'_>, registers: usize) -> Result<SampledHit, AggregatePartError> {
    let time = Time(c.u64()?);
    let (pid, tid) = (Pid(c.i32()?), Tid(c.i32()?));
    let (cpu, zero) = (Cpu(c.u32()?), c.u32()?);
    require(zero == 0, "word after a CPU", u64::from(zero))?;
    let (address, period) = (c.u64()?, c.u64()?);
    let (weight, data_src) = (c.u64()?, c.u64()?);
    let registers = c.words(registers as u64)?.iter().collect();
    Ok(SampledHit { time, pid, tid, cpu, address, period, weight, data_src, registers })
}

fn strides(c: &mut Cursor<'_>, count: u64) -> Result<Strides, AggregatePartError> {
    let mut strides = Strides::default();
    let (mut sum, mut next) = (0u64, 0);
    for _ in 0..c.u64()?.min(66) {
        let (bucket, pairs) = (c.u64()?, c.u64()?);
        let place = usize::try_from(bucket).unwrap_or(usize::MAX);
        require(place >= next, "bucket of distances", bucket)?;
        *strides.0.get_mut(place).ok_or_else(|| impossible("bucket of distances", bucket))? = pairs;
        sum = sum.saturating_add(pairs);
        require(pairs > 0 && sum <= count, "number of distances", sum)?;
        next = place + 1;
    }
    Ok(strides)
}

fn put_site(w: &mut ByteWriter<'_>, site: &Site) -> Result<(), AggregatePartError> {
    let mask = site.registers.iter().try_fold(0u64, |mask, register| {
        let number = u64::from(register.number);
        let bit = 1u64.checked_shl(register.number).filter(|bit| *bit > mask);
        bit.map(|bit| mask | bit).ok_or_else(|| impossible("register", number))
    })?;
    let taken = u8::try_from(site.taken.len()).unwrap_or(u8::MAX);
    require(site.count > 0, "count of a site", site.count)?;
    require(
        usize::from(taken) <= RESERVOIR && u64::from(taken) <= site.count,
        "number of hits taken",
        u64::from(taken),
    )?;
    require(site.first <= site.last, "first hit", site.first.0)?;
    let flag = |is_there, flag| if is_there { flag } else { 0 };
    let mode = site.mode.bits();
    w.i32(site.process.map_or(0, |process| process.0));
    w.u8(mode.to_le_bytes()[0]);
    w.u8(flag(site.process.is_some(), PROCESS)
        | flag(site.address.is_some(), ADDRESS)
        | flag(site.strides.is_some(), STRIDES)
        | flag(site.chain.is_some(), CALLERS));
    w.u8(taken);
    w.u8(0);
    for word in [site.ip, site.count, site.period, site.first.0, site.last.0, mask] {
        w.u64(word);
    }
    put_bits(w, site.pids, "bits of a process")?;
    if let Some(range) = site.address {
        require(range.min <= range.max, "lowest address", range.min)?;
        w.u64(range.min);
        w.u64(range.max);
        put_bits(w, range.bits, "bits of an address")?;
    }
    for register in &site.registers {
        put_bits(w, register.bits, "bits of a register")?;
    }
    site.taken.iter().try_for_each(|hit| put_hit(w, hit, site.registers.len()))?;
    if let Some(strides) = &site.strides {
        put_strides(w, strides, site.count)?;
    }
    if let Some(chain) = &site.chain {
        let words = chain.len() as u64;
        require(words <= MOST_CHAIN_WORDS as u64, "number of words of a chain", words)?;
        w.u64(words);
        chain.iter().for_each(|&word| w.u64(word));
    }
    Ok(())
}

fn put_hit(
    w: &mut ByteWriter<'_>,
    hit: &SampledHit,
    registers: usize,
) -> Result<(), AggregatePartError> {
    require(
        hit.registers.len() == registers,
        "number of a hit's registers",
        hit.registers.len() as u64,
    )?;
    w.u64(hit.time.0);
    w.i32(hit.pid.0);
    w.i32(hit.tid.0);
    w.u32(hit.cpu.0);
    w.u32(0);
    for word in [hit.address, hit.period, hit.weight, hit.data_src] {
        w.u64(word);
    }
    hit.registers.iter().for_each(|&value| w.u64(value));
    Ok(())
}

fn put_strides(
    w: &mut ByteWriter<'_>,
    strides: &Strides,
    count: u64,
) -> Result<(), AggregatePartError> {
    let sum = strides.0.iter().fold(0u64, |sum, &pairs| sum.saturating_add(pairs));
    require(sum <= count, "number of distances", sum)?;
    let there = || (0u64..).zip(strides.0).filter(|(_, pairs)| *pairs > 0);
    w.u64(there().count() as u64);
    for (bucket, pairs) in there() {
        w.u64(bucket);
        w.u64(pairs);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::{Aggregate, AggregateAssembler, Bits};
    use super::*;
    use crate::stream::{StreamDecoder, StreamRecord, StreamStep, write};
    use crate::{ChainContext, CpuMode};
    use proptest::prelude::*;

    const ORDERS: [ByteOrder; 2] = [ByteOrder::Little, ByteOrder::Big];

    fn full(ip: u64) -> Site {
        let registers =
            (0..64).map(|number| RegisterBits { number, bits: Bits { all: ip, any: ip | 0xff } });
        let hit = SampledHit {
            time: Time(5),
            pid: Pid(-1),
            tid: Tid(8),
            cpu: Cpu(1),
            address: 0x7000,
            period: 3,
            weight: 9,
            data_src: 0x11,
            registers: (100..164).collect(),
        };
        let mut strides = Strides::default();
        strides.0.fill(1);
        Site {
            process: Some(Pid(-1)),
            pids: Bits::of(u32::MAX.into()),
            ip,
            mode: CpuMode::Kernel,
            count: 1000,
            period: 3000,
            first: Time(5),
            last: Time(6),
            address: Some(Range { min: 1, max: 7, bits: Bits { all: 1, any: 7 } }),
            registers: registers.collect(),
            taken: vec![hit; RESERVOIR],
            strides: Some(Box::new(strides)),
            chain: Some([ChainContext::KERNEL.0, ip, 0x99, ChainContext::USER.0, 7].into()),
        }
    }

    fn bare(ip: u64) -> Site {
        Site {
            process: None,
            mode: CpuMode::User,
            count: 1,
            address: None,
            registers: Vec::new(),
            taken: Vec::new(),
            strides: None,
            chain: None,
            ..full(ip)
        }
    }

    fn bytes(part: &AggregatePart, order: ByteOrder) -> Vec<u8> {
        let mut bytes = Vec::new();
        part.encode(order, &mut bytes).unwrap();
        bytes
    }

    fn part(sites: Vec<Site>) -> AggregatePart {
        let lost = vec![("no_room".to_owned(), 7), ("kernel_busy".to_owned(), u64::MAX)];
        AggregatePart { from: Time(1), to: Time(9), number: 0, is_last: true, lost, sites }
    }

    #[test]
    fn what_is_written_is_read_in_both_orders() {
        let part = part(vec![full(0xffff_ffff_8100_0000), bare(0x40_1000)]);
        for order in ORDERS {
            let bytes = bytes(&part, order);
            assert_eq!(AggregatePart::decode(&bytes, order).as_ref(), Ok(&part));
            assert_eq!(bytes.len() % 8, 0);
            let head = 32 + 32 + (16 + 8) + (16 + 16);
            assert_eq!(bytes.len(), head + part.sites.iter().map(size).sum::<usize>());
        }
    }

    #[test]
    fn the_largest_site_fits_a_record_twice() {
        assert!(size(&full(1)) * 2 < ROOM);
        assert!(ROOM + 64 + CAUSES * (16 + CAUSE) < usize::from(u16::MAX) - 24);
    }

    #[test]
    fn bytes_cut_anywhere_are_refused() {
        let whole = bytes(&part(vec![full(1), bare(2)]), ByteOrder::Little);
        for end in 0..whole.len() {
            AggregatePart::decode(&whole[..end], ByteOrder::Little).unwrap_err();
        }
        let longer = [whole.as_slice(), &[0; 8]].concat();
        let error = AggregatePart::decode(&longer, ByteOrder::Little).unwrap_err();
        assert_eq!(
            error.to_string(),
            "an aggregate whose number of bytes left over is 8, which cannot be"
        );
    }

    #[test]
    fn impossible_values_are_neither_written_nor_read() {
        let refused = |site: Site, text: &str| {
            let error = part(vec![site]).encode(ByteOrder::Little, &mut Vec::new()).unwrap_err();
            assert_eq!(error.to_string(), format!("an aggregate whose {text}, which cannot be"));
        };
        let pids = Bits { all: 2, any: 1 };
        refused(Site { pids, ..bare(1) }, "bits of a process is 2");
        refused(Site { count: 0, ..bare(1) }, "count of a site is 0");
        refused(Site { first: Time(7), ..bare(1) }, "first hit is 7");
        let range = Range { min: 8, max: 7, bits: Bits::of(7) };
        refused(Site { address: Some(range), ..bare(1) }, "lowest address is 8");
        refused(Site { count: 64, ..full(1) }, "number of distances is 65");
        refused(Site { count: 3, strides: None, ..full(1) }, "number of hits taken is 4");
        let bits = RegisterBits { number: 3, bits: Bits { all: 6, any: 3 } };
        refused(Site { registers: vec![bits], ..bare(1) }, "bits of a register is 4");
        refused(
            Site { registers: vec![RegisterBits { number: 64, bits: Bits::of(0) }], ..bare(1) },
            "register is 64",
        );
        let twice = full(1).registers.into_iter().rev().collect();
        refused(Site { registers: twice, ..full(1) }, "register is 62");
        let endless = Some(vec![0; MOST_CHAIN_WORDS + 1].into());
        refused(Site { chain: endless, ..bare(1) }, "number of words of a chain is 161");
        let cause = AggregatePart { lost: vec![("No Room".to_owned(), 1)], ..part(Vec::new()) };
        cause.encode(ByteOrder::Little, &mut Vec::new()).unwrap_err();

        // The same in bytes: offsets of a bare site behind a head without causes.
        let plain =
            bytes(&AggregatePart { lost: Vec::new(), ..part(vec![bare(1)]) }, ByteOrder::Little);
        for (offset, value) in [(4, 6u8), (5, 8), (6, 5), (6, 2), (7, 1), (0, 1), (16, 0), (32, 7)]
        {
            let mut bytes = plain.clone();
            bytes[56 + offset] = value;
            AggregatePart::decode(&bytes, ByteOrder::Little)
                .expect_err(&format!("{value} at {offset}"));
        }
    }

    #[test]
    fn another_version_is_named() {
        let mut bytes = bytes(&part(Vec::new()), ByteOrder::Little);
        bytes[10] = b'3';
        let error = AggregatePart::decode(&bytes, ByteOrder::Little).unwrap_err().to_string();
        assert!(error.contains("\"aggregate=3;samples=0\""), "{error}");
    }

    #[test]
    fn who_knows_no_callers_is_not_given_them() {
        let text = |site: Site| {
            let bytes = bytes(&part(vec![site]), ByteOrder::Little);
            (bytes[..11].to_vec(), bytes)
        };
        let (first, _) = text(Site { chain: None, ..full(1) });
        assert_eq!(first, b"aggregate=1");
        let (second, mut bytes) = text(full(1));
        assert_eq!(second, b"aggregate=2");
        bytes[10] = b'1';
        let error = AggregatePart::decode(&bytes, ByteOrder::Little).unwrap_err().to_string();
        assert!(error.contains("version"), "{error}");
    }

    fn stream(fill: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
        let mut bytes = Vec::new();
        write::file_header(ByteOrder::Little, &mut bytes);
        write::attr(&crate::Attr::default(), &[7], ByteOrder::Little, &mut bytes).unwrap();
        fill(&mut bytes);
        bytes
    }

    /// All aggregates of a stream, and what was torn.
    fn read(stream: &[u8]) -> (Vec<Aggregate>, Vec<String>, StreamDecoder) {
        let (mut decoder, mut at) = (StreamDecoder::new(), 0);
        let (mut assembler, mut whole, mut torn) =
            (AggregateAssembler::default(), Vec::new(), Vec::new());
        while let StreamStep::Record { consumed, record } = decoder.step(&stream[at..]).unwrap() {
            at += consumed;
            if let StreamRecord::Aggregate { event, part } = record {
                assert_eq!(event, 0);
                let assembled = assembler.add(part);
                whole.extend(assembled.whole);
                torn.extend(assembled.torn.map(|torn| torn.to_string()));
            }
        }
        torn.extend(assembler.finish().map(|torn| torn.to_string()));
        decoder.finish(stream.len() - at).unwrap();
        (whole, torn, decoder)
    }

    fn long() -> Aggregate {
        let sites = (0..100).map(full).chain((100..2000).map(bare)).collect();
        Aggregate {
            from: Time(1_500_000_000),
            to: Time(9_000_000_000),
            sites,
            lost: vec![("no_room".to_owned(), 3)],
        }
    }

    #[test]
    fn aggregates_go_through_a_stream() {
        let empty = Aggregate { from: Time(2), to: Time(2), ..Aggregate::default() };
        let bytes = stream(|bytes| {
            write::aggregate(7, long(), ByteOrder::Little, bytes).unwrap();
            write::event_unit(7, "kernel=1;delivered=1", ByteOrder::Little, bytes).unwrap();
            write::aggregate(7, empty.clone(), ByteOrder::Little, bytes).unwrap();
        });
        assert!(bytes.len() > 65_535);
        let (whole, torn, decoder) = read(&bytes);
        assert_eq!(whole, [long(), empty]);
        assert_eq!(torn, Vec::<String>::new());
        assert_eq!(decoder.events()[0].notes, ["kernel=1;delivered=1"]);
        assert_eq!(decoder.tally().unreadable(), None);
    }

    #[test]
    fn the_text_says_how_many_hits_a_record_has() {
        for order in ORDERS {
            let (mut sum, mut records) = (0, 0);
            for part in long().into_parts() {
                let mut record = Vec::new();
                write::aggregate_part(7, &part, order, &mut record).unwrap();
                sum += samples_of(&record, order).unwrap();
                records += 1;
            }
            assert_eq!((sum, records > 1), (100 * 1000 + 1900, true));
            let mut note = Vec::new();
            write::event_unit(7, "kernel=1;delivered=1", order, &mut note).unwrap();
            assert_eq!(samples_of(&note, order), None);
            assert_eq!(samples_of(&note[..20], order), None);
        }
        let mut wrong = bytes(&part(vec![bare(1)]), ByteOrder::Little);
        wrong[20] = b'2';
        let error = AggregatePart::decode(&wrong, ByteOrder::Little).unwrap_err().to_string();
        assert!(error.contains("number of samples in its text is 2"), "{error}");
    }

    #[test]
    fn a_missing_part_is_told_once_and_nothing_of_it_counts() {
        let parts = long().into_parts().collect::<Vec<_>>();
        assert!(parts.len() > 5, "{}", parts.len());
        let next = Aggregate {
            from: Time(9_000_000_000),
            to: Time(10_000_000_000),
            sites: vec![full(1)],
            lost: Vec::new(),
        };
        for missing in 0..parts.len() {
            let bytes = stream(|bytes| {
                for part in parts.iter().filter(|part| part.number as usize != missing) {
                    write::aggregate_part(7, part, ByteOrder::Little, bytes).unwrap();
                }
                write::aggregate(7, next.clone(), ByteOrder::Little, bytes).unwrap();
            });
            let (whole, torn, _) = read(&bytes);
            assert_eq!(whole, std::slice::from_ref(&next));
            let told = format!(
                "what the kernel counted from 1.500 s to 9.000 s was left out: part {missing} of it is missing"
            );
            assert_eq!(torn, [told]);
        }
        let cut =
            stream(|bytes| write::aggregate_part(7, &parts[0], ByteOrder::Little, bytes).unwrap());
        assert_eq!(read(&cut).1.len(), 1);
    }

    #[test]
    fn a_part_that_cannot_be_read_costs_itself_and_is_counted() {
        let bytes = stream(|bytes| {
            let start = bytes.len();
            write::aggregate(7, long(), ByteOrder::Little, bytes).unwrap();
            bytes[start + 8 + 16 + 10] = b'9';
            write::aggregate(7, Aggregate::default(), ByteOrder::Little, bytes).unwrap();
        });
        let (whole, torn, decoder) = read(&bytes);
        assert_eq!((whole.len(), torn.len()), (1, 1));
        let unreadable = decoder.tally().unreadable().unwrap().to_string();
        assert!(unreadable.contains("aggregate=9"), "{unreadable}");
    }

    proptest! {
        #[test]
        fn any_bytes_decode_or_say_why(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            for order in ORDERS {
                for version in [b"aggregate=1;samples=9\0\0\0", b"aggregate=2;samples=9\0\0\0"] {
                    let bytes = [version.as_slice(), &bytes].concat();
                    if let Err(error) = AggregatePart::decode(&bytes, order) {
                        prop_assert!(!error.to_string().is_empty());
                    }
                }
            }
        }

        #[test]
        fn a_changed_byte_is_refused_or_means_what_is_written_for_it(at in 56usize..3000, value: u8) {
            let mut bytes = bytes(&AggregatePart { lost: Vec::new(), ..part(vec![full(1), bare(2)]) }, ByteOrder::Little);
            let at = at % bytes.len();
            bytes[at] = value;
            if let Ok(part) = AggregatePart::decode(&bytes, ByteOrder::Little) {
                prop_assert_eq!(super::tests::bytes(&part, ByteOrder::Little), bytes);
            }
        }
    }

    #[test]
    fn what_is_taken_off_fits_and_adds_up() {
        let lost = vec![("no_room".to_owned(), 7)];
        let sites: Vec<Site> =
            (0..200).map(|ip| if ip % 3 == 0 { full(ip) } else { bare(ip) }).collect();
        let whole = Aggregate { from: Time(1), to: Time(9), sites, lost: lost.clone() };
        let records = |aggregate: &Aggregate| {
            let mut bytes = Vec::new();
            write::aggregate(1, aggregate.clone(), ByteOrder::Little, &mut bytes).unwrap();
            bytes.len()
        };
        assert!(records(&whole) <= whole.record_bytes());
        for most in [0, 1000, 48 * 1024, 100_000, usize::MAX] {
            let (mut rest, mut pieces) = (whole.clone(), Vec::new());
            while !rest.sites.is_empty() {
                pieces.push(rest.take_bytes(most));
            }
            for piece in &pieces {
                let fits = records(piece) <= most && piece.record_bytes() <= most;
                assert!(fits || piece.sites.len() == 1, "{} of {most}", records(piece));
                assert_eq!((piece.from, piece.to), (whole.from, whole.to));
            }
            let lost_of = |piece: &Aggregate| piece.lost.clone();
            assert_eq!(pieces.iter().flat_map(lost_of).collect::<Vec<_>>(), lost, "told once");
            let mut ips: Vec<u64> =
                pieces.iter().flat_map(|piece| piece.sites.iter().map(|site| site.ip)).collect();
            ips.sort_unstable();
            assert_eq!(ips, (0..200).collect::<Vec<_>>(), "each site is in one");
        }
        let mut empty = Aggregate { sites: Vec::new(), ..whole };
        assert_eq!(empty.take_bytes(0).lost, lost);
    }
}
