//! `repeat-stream SAMPLES < STREAM > STREAM`: a stream with as many samples
//! as a benchmark asks for, made of one that was recorded.
//!
//! The stream passes as it is, but for its EXIT records and its ledger. Then
//! its samples and round marks come again and again, each time later than the
//! last, so that objects, sites and processes stay the recorded ones. The ledger
//! comes last, with as many events, and without losses where it had none: a
//! recording without its ledger is an incomplete one.

use std::{
    env,
    io::{self, BufWriter, Error, Read, Write},
};

/// Bytes of the header of a stream, and of a record.
const STREAM_HEADER: usize = 16;
const RECORD_HEADER: usize = 8;
/// IP, TID, TIME and IDENTIFIER: with these, the time is at a fixed place.
const NEEDED: u64 = 1 | 2 | 4 | 1 << 16;
/// Where the time lies in a SAMPLE, behind its header, IDENTIFIER, IP and TID.
const TIME_AT: usize = RECORD_HEADER + 24;
/// Where an attr has its sample_type, in a HEADER_ATTR record.
const SAMPLE_TYPE_AT: usize = RECORD_HEADER + 24;

const EXIT: u32 = 4;
const SAMPLE: u32 = 9;
const HEADER_ATTR: u32 = 64;
const HEADER_TRACING_DATA: u32 = 66;
const FINISHED_ROUND: u32 = 68;
const AUXTRACE: u32 = 71;
const EVENT_UPDATE: u32 = 78;
/// Where an EVENT_UPDATE has its text, behind its kind and the event's id.
const TEXT_AT: usize = RECORD_HEADER + 16;

fn main() -> io::Result<()> {
    let wanted = env::args().nth(1).and_then(|word| word.parse().ok());
    let wanted: u64 = wanted.ok_or_else(|| Error::other("usage: repeat-stream SAMPLES"))?;
    let mut input = Vec::new();
    io::stdin().read_to_end(&mut input)?;
    repeat(&input, wanted, &mut BufWriter::with_capacity(1 << 20, io::stdout().lock()))
}

fn repeat(input: &[u8], wanted: u64, out: &mut impl Write) -> io::Result<()> {
    if !input.starts_with(b"PERFILE2") || word(input, 8)? != STREAM_HEADER as u64 {
        return Err(Error::other("stdin is no perf.data stream in pipe form"));
    }
    out.write_all(&input[..STREAM_HEADER])?;
    let mut again = Vec::new();
    let (mut samples, mut first, mut last) = (0, u64::MAX, 0);
    let mut ledger = None;
    let mut at = STREAM_HEADER;
    while at < input.len() {
        let record = record_at(input, at)?;
        at += record.len();
        match kind(record) {
            HEADER_ATTR if word(record, SAMPLE_TYPE_AT)? & NEEDED != NEEDED => {
                return Err(Error::other("an event without IDENTIFIER, IP, TID or TIME"));
            }
            HEADER_TRACING_DATA | AUXTRACE => {
                return Err(Error::other("a stream with data outside of records"));
            }
            EXIT => continue,
            EVENT_UPDATE if record.windows(10).any(|text| text == b"delivered=") => {
                if ledger.replace(record).is_some() {
                    return Err(Error::other("a stream of several events"));
                }
                continue;
            }
            SAMPLE if samples == wanted => continue,
            SAMPLE => {
                let time = word(record, TIME_AT)?;
                (first, last) = (first.min(time), last.max(time));
                samples += 1;
                again.push(record);
            }
            FINISHED_ROUND => again.push(record),
            _ => {}
        }
        out.write_all(record)?;
    }
    if samples == 0 {
        return Err(Error::other("a stream without samples"));
    }
    let span = last - first + 1;
    let mut copy = Vec::new();
    'all: for shift in (1..).map(|n| n * span) {
        for record in &again {
            if kind(record) == FINISHED_ROUND {
                out.write_all(record)?;
                continue;
            }
            if samples == wanted {
                break 'all;
            }
            copy.clear();
            copy.extend_from_slice(record);
            let time = word(record, TIME_AT)? + shift;
            copy[TIME_AT..TIME_AT + 8].copy_from_slice(&time.to_le_bytes());
            out.write_all(&copy)?;
            samples += 1;
        }
    }
    if let Some(ledger) = ledger {
        out.write_all(&ledger_of(ledger, samples)?)?;
    }
    out.flush()
}

/// A ledger of so many events, each with a sample.
fn ledger_of(record: &[u8], samples: u64) -> io::Result<Vec<u8>> {
    let text = record.get(TEXT_AT..).unwrap_or_default();
    let text = String::from_utf8_lossy(text.split(|byte| *byte == 0).next().unwrap_or_default());
    let pairs = text.split(';').map(|pair| match pair.split_once('=') {
        Some((key @ ("events" | "kernel" | "delivered"), _)) => format!("{key}={samples}"),
        _ => pair.to_owned(),
    });
    let mut copy = record[..TEXT_AT].to_vec();
    copy.extend_from_slice(pairs.collect::<Vec<_>>().join(";").as_bytes());
    copy.resize((copy.len() / 8 + 1) * 8, 0);
    let size = u16::try_from(copy.len()).map_err(Error::other)?;
    copy[6..8].copy_from_slice(&size.to_le_bytes());
    Ok(copy)
}

fn record_at(input: &[u8], at: usize) -> io::Result<&[u8]> {
    let rest = &input[at..];
    let size = rest.get(6..8).map(|bytes| usize::from(u16::from_le_bytes([bytes[0], bytes[1]])));
    let whole = size.filter(|size| *size >= RECORD_HEADER).and_then(|size| rest.get(..size));
    whole.ok_or_else(|| Error::other(format!("no whole record at byte {at}")))
}

fn kind(record: &[u8]) -> u32 {
    u32::from_le_bytes([record[0], record[1], record[2], record[3]])
}

fn word(record: &[u8], at: usize) -> io::Result<u64> {
    let bytes = record.get(at..at + 8).and_then(|bytes| bytes.try_into().ok());
    bytes.map(u64::from_le_bytes).ok_or_else(|| Error::other("a record that is too short"))
}
