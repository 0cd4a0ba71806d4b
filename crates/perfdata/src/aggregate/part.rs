//! Bytes of an aggregate: what one record of a stream holds of it.

use std::sync::Arc;

use super::{Bits, MOST_CHAIN_WORDS, RESERVOIR, Range, RegisterBits, Site, Strides, Taken};
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
    /// Its end.
    pub to: Time,
    /// Parts of this aggregate before this one.
    pub number: u32,
    /// Whether it has no more.
    pub is_last: bool,
    /// All causes of loss in the first part, none in others.
    pub lost: Vec<(String, u64)>,
    /// Its sites.
    pub sites: Vec<Site>,
}

/// Why bytes are no part, or a part cannot be written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AggregatePartError {
    /// Written by a newer recorder.
    #[error(
        "an aggregate of a version not known here (its text is {text:?}); report it with the ebs that recorded it"
    )]
    Version {
        /// Its text, up to the NUL.
        text: String,
    },
    /// The bytes ended before the value did.
    #[error("an aggregate: {0}")]
    Short(#[from] Short),
    /// A value that no recorder writes.
    #[error("an aggregate whose {what} is {value}, which cannot be")]
    Impossible {
        /// Which value.
        what: &'static str,
        /// What it is.
        value: u64,
    },
    /// A name of a cause that is none.
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

/// What a part may have.
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

/// What the text says.
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

fn hit(c: &mut Cursor<'_>, registers: usize) -> Result<Taken, AggregatePartError> {
    let time = Time(c.u64()?);
    let (pid, tid) = (Pid(c.i32()?), Tid(c.i32()?));
    let (cpu, zero) = (Cpu(c.u32()?), c.u32()?);
    require(zero == 0, "word after a CPU", u64::from(zero))?;
    let (address, period) = (c.u64()?, c.u64()?);
    let (weight, data_src) = (c.u64()?, c.u64()?);
    let registers = c.words(registers as u64)?.iter().collect();
    Ok(Taken { time, pid, tid, cpu, address, period, weight, data_src, registers })
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
    hit: &Taken,
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
mod tests;
