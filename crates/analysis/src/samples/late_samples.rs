//! Samples that wait to the end of the recording, for types that only all of it
//! tells.

use crate::samples::sampled_stacks::{NameNumber, StackId};
use crate::samples::single_sample::{NamedAccess, SingleSample};
use perfdata::{Cpu, CpuMode, DataSrc, MissClass, Pid, Task, Tid, Time};
use std::fmt;
use std::io::{self, BufReader, BufWriter, ErrorKind, Read, Seek, SeekFrom, Write};

/// Where samples wait: a file without a name, or memory. Of each it takes some
/// 150 bytes.
pub trait SampleRoom: Read + Write + Seek + Send + fmt::Debug {}

impl<T: Read + Write + Seek + Send + fmt::Debug> SampleRoom for T {}

/// A sample, and the number of its type where that is not decided yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LateSample {
    pub(crate) sample: SingleSample,
    pub(crate) undecided: Option<u32>,
}

#[derive(Debug)]
pub(crate) struct LateSamples {
    room: BufWriter<Box<dyn SampleRoom>>,
    written: u64,
}

#[derive(Debug)]
pub(crate) struct LateSampleReader {
    room: BufReader<Box<dyn SampleRoom>>,
    left: u64,
}

/// Fields of one: those that are there are told by a mask before them.
const FIELDS: usize = 28;

impl LateSamples {
    pub(crate) fn new(room: Box<dyn SampleRoom>) -> LateSamples {
        LateSamples { room: BufWriter::with_capacity(1 << 16, room), written: 0 }
    }

    pub(crate) fn write(&mut self, late: &LateSample) -> io::Result<()> {
        let fields = late.fields();
        let there = fields.iter().enumerate().filter(|(_, field)| field.is_some());
        let mask = there.fold(0_u32, |mask, (at, _)| mask | 1 << at);
        self.room.write_all(&mask.to_le_bytes())?;
        for field in fields.into_iter().flatten() {
            self.room.write_all(&field.to_le_bytes())?;
        }
        self.written += 1;
        Ok(())
    }

    pub(crate) fn into_reader(self) -> io::Result<LateSampleReader> {
        let mut room = self.room.into_inner().map_err(io::IntoInnerError::into_error)?;
        room.seek(SeekFrom::Start(0))?;
        Ok(LateSampleReader { room: BufReader::with_capacity(1 << 16, room), left: self.written })
    }
}

impl LateSampleReader {
    pub(crate) fn next_sample(&mut self) -> io::Result<Option<LateSample>> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        let mut mask = [0; 4];
        self.room.read_exact(&mut mask)?;
        let mask = u32::from_le_bytes(mask);
        let mut fields = [None; FIELDS];
        for (at, field) in fields.iter_mut().enumerate() {
            if mask >> at & 1 == 1 {
                let mut bytes = [0; 8];
                self.room.read_exact(&mut bytes)?;
                *field = Some(u64::from_le_bytes(bytes));
            }
        }
        let late = LateSample::of(&fields);
        late.map(Some).ok_or_else(|| io::Error::new(ErrorKind::InvalidData, "no sample of ours"))
    }
}

fn of_name(name: Option<NameNumber>) -> Option<u64> {
    name.map(|name| name.0.into())
}

fn name(field: Option<u64>) -> Option<NameNumber> {
    field.and_then(narrow).map(NameNumber)
}

fn narrow(word: u64) -> Option<u32> {
    u32::try_from(word).ok()
}

/// What has but two values, and the mode.
fn flags(sample: &SingleSample) -> u64 {
    u64::from(sample.is_exact)
        | u64::from(sample.routine.is_ok()) << 1
        | u64::from(sample.mode.bits()) << 2
}

impl LateSample {
    fn fields(&self) -> [Option<u64>; FIELDS] {
        let it = &self.sample;
        let (Ok(routine) | Err(routine)) = it.routine;
        let task = |task: Task| [task.pid.0, task.tid.0].map(i32::cast_unsigned).map(u64::from);
        [
            Some(it.event as u64),
            Some(it.samples),
            Some(it.period),
            Some(flags(it)),
            it.time.map(|time| time.0),
            it.task.map(task).map(|[pid, tid]| pid << 32 | tid),
            of_name(it.comm),
            it.cpu.map(|cpu| cpu.0.into()),
            it.ip,
            of_name(Some(routine)),
            of_name(it.object),
            Some(it.stack.0.into()),
            it.address,
            of_name(it.variable),
            of_name(it.of_type),
            of_name(it.member),
            of_name(it.allocation),
            of_name(it.access.operation),
            of_name(it.access.level),
            of_name(it.access.snoop),
            of_name(it.access.tlb),
            of_name(it.access.lock),
            of_name(it.access.blocked),
            it.data_src.map(|source| source.0),
            it.weight,
            it.latency,
            it.miss.map(|miss| u64::from(miss as u8)),
            self.undecided.map(u64::from),
        ]
    }

    fn of(fields: &[Option<u64>; FIELDS]) -> Option<LateSample> {
        let [event, samples, period, flags, time, task, comm, cpu, ip, routine, rest @ ..] = fields;
        let [object, stack, address, variable, of_type, member, allocation, rest @ ..] = rest;
        let [operation, level, snoop, tlb, lock, blocked, rest @ ..] = rest;
        let [data_src, weight, latency, miss, undecided] = rest;
        let flags = (*flags)?;
        let routine = name(*routine)?;
        let half = |word: u64| narrow(word & u64::from(u32::MAX)).map(u32::cast_signed);
        let task =
            task.and_then(|task| Some(Task { pid: Pid(half(task >> 32)?), tid: Tid(half(task)?) }));
        let miss = miss.and_then(|miss| MissClass::of_number(u8::try_from(miss).ok()?));
        let sample = SingleSample {
            event: usize::try_from((*event)?).ok()?,
            samples: (*samples)?,
            period: (*period)?,
            is_exact: flags & 1 == 1,
            mode: CpuMode::from_bits(u16::try_from(flags >> 2).ok()?),
            time: time.map(Time),
            task,
            comm: name(*comm),
            cpu: cpu.and_then(narrow).map(Cpu),
            ip: *ip,
            routine: if flags >> 1 & 1 == 1 { Ok(routine) } else { Err(routine) },
            object: name(*object),
            stack: StackId(stack.and_then(narrow)?),
            address: *address,
            variable: name(*variable),
            of_type: name(*of_type),
            member: name(*member),
            allocation: name(*allocation),
            access: NamedAccess {
                operation: name(*operation),
                level: name(*level),
                snoop: name(*snoop),
                tlb: name(*tlb),
                lock: name(*lock),
                blocked: name(*blocked),
            },
            data_src: data_src.map(DataSrc),
            weight: *weight,
            latency: *latency,
            miss,
        };
        Some(LateSample { sample, undecided: undecided.and_then(narrow) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn late(is_full: bool, from: u32) -> LateSample {
        let mut next = from;
        let mut number = || {
            next += 1;
            is_full.then_some(NameNumber(next))
        };
        let [comm, object, variable, of_type, member, allocation] =
            std::array::from_fn(|_| number());
        let [operation, level, snoop, tlb, lock, blocked] = std::array::from_fn(|_| number());
        let whole = |of: u64| is_full.then_some(of << 40 | u64::from(from));
        let sample = SingleSample {
            event: 3,
            samples: 4,
            period: u64::MAX,
            is_exact: is_full,
            mode: if is_full { CpuMode::GuestUser } else { CpuMode::User },
            time: whole(1).map(Time),
            task: is_full.then_some(Task { pid: Pid(-1), tid: Tid(77) }),
            comm,
            cpu: is_full.then_some(Cpu(9)),
            ip: whole(2),
            routine: if is_full { Err(NameNumber(98)) } else { Ok(NameNumber(99)) },
            object,
            stack: StackId(7),
            address: whole(3),
            variable,
            of_type,
            member,
            allocation,
            access: NamedAccess { operation, level, snoop, tlb, lock, blocked },
            data_src: whole(4).map(DataSrc),
            weight: whole(5),
            latency: whole(6),
            miss: is_full.then_some(MissClass::Edge),
        };
        LateSample { sample, undecided: is_full.then_some(from) }
    }

    #[test]
    fn what_is_written_down_is_read_back() {
        let all = [late(true, 5), late(false, 6), late(true, 1 << 30)];
        let mut samples = LateSamples::new(Box::new(io::Cursor::new(Vec::new())));
        all.iter().for_each(|late| samples.write(late).unwrap());
        let mut reader = samples.into_reader().unwrap();
        for late in &all {
            assert_eq!(reader.next_sample().unwrap().as_ref(), Some(late));
        }
        assert_eq!(reader.next_sample().unwrap(), None);
    }
}
