//! Bringing threads from translated code to an instruction's begin.

use std::time::{Duration, Instant};

use super::engine::Engine;
use super::registers::register;
use super::signal::is_fault;
use super::step::repeats;
use super::task::{TaskError, TaskMode};
use super::watchdog::RuntimeWatchdog;
use crate::block::{self, NAME};
use crate::runtime::guest::region::RDI;
use crate::sys::ptrace::{self, TraceeRegisters, TraceeStop};
use crate::sys::remote;
use crate::translate::{CodeStop, InstructionPhase, Location, MARK_BYTES};

/// Steps and stops before it is given up.
const MAX_STEPS: usize = 20_000;
/// How long a thread waits for room in the ring when it is to be left.
const ROOM: Duration = Duration::from_secs(1);

impl Engine {
    /// The program's own registers for a place in translated code at which
    /// nothing, or all, of an instruction is done.
    pub(crate) fn guest_at(
        &mut self,
        tid: i32,
        mut registers: TraceeRegisters,
        location: Location,
    ) -> Result<TraceeRegisters, TaskError> {
        for at in (0..16).filter(|at| location.held >> at & 1 == 1) {
            let (space, number) = self.block_of(tid)?;
            let value = space.get(number, block::REGISTERS + 8 * at);
            if let Some(place) = register(&mut registers, at) {
                *place = value;
            }
        }
        if location.part {
            let (space, number) = self.block_of(tid)?;
            registers.rcx = registers.rcx.wrapping_add(space.get(number, block::REST));
        }
        match location.phase {
            InstructionPhase::AfterSyscall => {
                registers.rip = location.next;
                registers.rcx = location.next;
            }
            InstructionPhase::Branching => {
                let (space, number) = self.block_of(tid)?;
                registers.rip = space.get(number, block::BRANCH);
            }
            _ => registers.rip = location.ip,
        }
        Ok(registers)
    }

    /// Brings a stopped thread to an instruction's begin and keeps its state
    /// in `guest`. Signals that come on the way come later: in the order in
    /// which they were sent.
    pub(crate) fn settle(&mut self, tid: i32) -> Result<(), TaskError> {
        let task = self.task(tid)?;
        if task.guest.is_some() || task.parked {
            return Ok(());
        }
        let registers = ptrace::registers(tid)?;
        let space = self.space_of(tid)?;
        let inside = space.in_runtime(registers.rip);
        let at_once = space.cache.locate(registers.rip).map_or(!inside, |location| {
            !matches!(location.phase, InstructionPhase::Runtime | InstructionPhase::Checked)
        });
        if at_once {
            return self.run_to_begin(tid);
        }
        let blocked = ptrace::block_signals(tid)?;
        let result = self.run_to_begin(tid);
        if !matches!(result, Err(TaskError::Gone)) {
            ptrace::set_blocked_signals(tid, blocked)?;
        }
        result
    }

    fn run_to_begin(&mut self, tid: i32) -> Result<(), TaskError> {
        let mut registers = ptrace::registers(tid)?;
        let mut watchdog = RuntimeWatchdog::new(tid);
        for _ in 0..MAX_STEPS {
            watchdog.check()?;
            let space = self.space_of(tid)?;
            let inside = space.in_runtime(registers.rip);
            match space.cache.locate(registers.rip) {
                None if inside => registers = self.out_of_runtime(tid, registers, &watchdog)?,
                // A program's own address: it is there already.
                None => {
                    self.task(tid)?.guest = Some(registers);
                    return Ok(());
                }
                Some(Location { phase: InstructionPhase::Runtime, .. }) => {
                    registers = self.out_of_runtime(tid, registers, &watchdog)?;
                }
                Some(location) if location.phase == InstructionPhase::Checked => {
                    if repeats(tid, registers.rip) {
                        if let Some(after) = self.finish_repeat(tid, registers)? {
                            registers = after;
                            // Its time was the program's own.
                            watchdog = RuntimeWatchdog::new(tid);
                            continue;
                        }
                        // Interrupted between two elements, as by hardware; the
                        // rest is looked up again.
                        let guest = self.guest_at(tid, registers, location)?;
                        self.task(tid)?.guest = Some(guest);
                        return Ok(());
                    }
                    registers = self.one_step(tid)?;
                }
                Some(location) => {
                    let guest = self.guest_at(tid, registers, location)?;
                    self.task(tid)?.guest = Some(guest);
                    return Ok(());
                }
            }
            let task = self.task(tid)?;
            if task.guest.is_some() || task.parked {
                return Ok(());
            }
        }
        Err(watchdog.stuck())
    }

    /// Lets a thread finish its slow path. `registers` are those of its stop.
    fn out_of_runtime(
        &mut self,
        tid: i32,
        registers: TraceeRegisters,
        watchdog: &RuntimeWatchdog,
    ) -> Result<TraceeRegisters, TaskError> {
        self.side.free_stray_lock(&self.plan.ring, &self.tasks);
        let (space, number) = self.block_of(tid)?;
        if !space.in_runtime(registers.rip) {
            // In the stubs around it RESUME may not have its value yet.
            return self.one_step(tid);
        }
        let boundary = space.cache.boundary().ok_or(TaskError::Gone)?;
        let resume = space.get(number, block::RESUME);
        if resume == boundary {
            return self.one_step(tid);
        }
        space.set(number, block::RESUME, boundary);
        self.interrupt_wait(tid)?;
        let result = self.run_to_boundary(tid, watchdog);
        let (space, number) = self.block_of(tid)?;
        let reached = space.get(number, block::RESUME) == boundary;
        if reached {
            space.set(number, block::RESUME, resume);
        }
        let mut registers = result?;
        if self.task(tid)?.parked {
            return Ok(registers);
        }
        let at_boundary = self
            .space_of(tid)?
            .cache
            .stop_at(registers.rip.wrapping_sub(1))
            .is_some_and(|stop| stop == CodeStop::Boundary);
        if at_boundary && self.task(tid)?.guest.is_none() {
            registers.rip = resume;
            ptrace::set_registers(tid, &registers)?;
        }
        Ok(registers)
    }

    fn run_to_boundary(
        &mut self,
        tid: i32,
        watchdog: &RuntimeWatchdog,
    ) -> Result<TraceeRegisters, TaskError> {
        let mut nudged = Vec::new();
        let result = self.run_among_others(tid, &mut nudged, watchdog);
        for other in nudged {
            // A thread that has ended meanwhile needs no nudge.
            let _ended = ptrace::interrupt(other);
        }
        result
    }

    fn run_among_others(
        &mut self,
        tid: i32,
        nudged: &mut Vec<i32>,
        watchdog: &RuntimeWatchdog,
    ) -> Result<TraceeRegisters, TaskError> {
        loop {
            watchdog.check()?;
            ptrace::resume(tid, 0)?;
            match self.next_stop(tid, nudged)? {
                TraceeStop::Signal(libc::SIGTRAP) => {
                    let registers = ptrace::registers(tid)?;
                    match self.space_of(tid)?.cache.stop_at(registers.rip.wrapping_sub(1)) {
                        Some(CodeStop::Boundary) => return Ok(registers),
                        Some(CodeStop::Runtime) if self.runtime_stop(tid)? => {
                            return Ok(registers);
                        }
                        Some(CodeStop::Runtime) | None => {}
                        // It was in the lookup of a branch, and went on.
                        Some(_) => {
                            self.take_stop(tid)?;
                            return Ok(registers);
                        }
                    }
                }
                TraceeStop::Signal(signal) => {
                    let info = ptrace::signal_info(tid)?;
                    if is_fault(signal, info.code()) {
                        // It went on, and will fault again where it is taken to.
                        let registers = ptrace::registers(tid)?;
                        self.stay_at_fault(tid, registers)?;
                        return Ok(registers);
                    }
                    self.keep_signal(tid, info)?;
                }
                stop
                @ (TraceeStop::Exited(_) | TraceeStop::Killed(_) | TraceeStop::Exec { .. }) => {
                    self.report_later(tid, stop);
                    return Err(TaskError::Gone);
                }
                TraceeStop::Cloned { child, how } => {
                    if self.note_clone(tid, child, how)? {
                        return Ok(ptrace::registers(tid)?);
                    }
                }
                // A step makes a stop in which signals can be delivered.
                _ => return self.one_step(tid),
            }
        }
    }

    /// The next stop of a thread that runs; others' are kept, and those that
    /// stopped in the runtime go on. It is interrupted if it takes long: it
    /// was in the lookup of a branch, which does not end at RESUME.
    fn next_stop(&mut self, tid: i32, nudged: &mut Vec<i32>) -> Result<TraceeStop, TaskError> {
        const PAUSE: Duration = Duration::from_micros(50);
        const PAUSES: usize = 20;
        for tries in 1.. {
            self.free_runtime(tid, nudged)?;
            match ptrace::poll_any()? {
                Some((who, stop)) if who == tid => return Ok(stop),
                Some((who, stop)) => self.report_later(who, stop),
                None => std::thread::sleep(PAUSE),
            }
            if tries == PAUSES {
                ptrace::interrupt(tid)?;
            }
        }
        Err(TaskError::Gone)
    }

    /// Lets threads run on that stopped in the runtime, where they may hold
    /// what another thread waits for; they are to be interrupted afterwards.
    fn free_runtime(&mut self, but: i32, nudged: &mut Vec<i32>) -> Result<(), TaskError> {
        for _ in 0..self.reports.len() {
            let Some((tid, stop)) = self.reports.pop_front() else { break };
            if tid != but && self.stands_in_runtime(tid, stop)? {
                nudged.push(tid);
            } else {
                self.reports.push_back((tid, stop));
            }
        }
        Ok(())
    }

    /// Whether a thread stopped in the runtime for something that can wait:
    /// keeps the signal for later, and lets it run.
    fn stands_in_runtime(&mut self, tid: i32, stop: TraceeStop) -> Result<bool, TaskError> {
        let emulated = self.tasks.get(&tid);
        if !emulated
            .is_some_and(|task| task.mode == TaskMode::Emulated && !task.unborn && !task.parked)
        {
            return Ok(false);
        }
        if !matches!(
            stop,
            TraceeStop::Signal(_)
                | TraceeStop::Interrupted
                | TraceeStop::Other
                | TraceeStop::Group(_)
        ) {
            return Ok(false);
        }
        let Ok(registers) = ptrace::registers(tid) else { return Ok(false) };
        if !self.space_of(tid)?.in_runtime(registers.rip) {
            return Ok(false);
        }
        if let TraceeStop::Signal(signal) = stop {
            let info = ptrace::signal_info(tid)?;
            let ours = signal == libc::SIGTRAP && info.code() != 0;
            if is_fault(signal, info.code()) {
                return Ok(false);
            }
            if !ours {
                self.keep_signal(tid, info)?;
            }
        }
        ptrace::resume(tid, 0)?;
        Ok(true)
    }

    /// What the runtime stopped for while its end was waited for. True: the
    /// state is in `guest`.
    pub(crate) fn runtime_stop(&mut self, tid: i32) -> Result<bool, TaskError> {
        let (space, number) = self.block_of(tid)?;
        match space.get(number, block::EXIT) {
            why if why == block::ExitReason::RingFull as u64 => {
                self.progress.fill();
                let end = Instant::now() + ROOM;
                while !self.has_room() {
                    if Instant::now() > end {
                        let mut guest = self.stored_guest(tid)?;
                        if self.is_at_mark(tid)? {
                            // It is lost, and is not told after all.
                            guest.rip = guest.rip.wrapping_add(MARK_BYTES);
                        }
                        self.count_due_as_lost(tid);
                        self.task(tid)?.guest = Some(guest);
                        return Ok(true);
                    }
                    std::thread::sleep(Duration::from_millis(1));
                }
                Ok(false)
            }
            why if why == block::ExitReason::Name as u64 => self.read_name(tid).map(|()| false),
            why if why == block::ExitReason::Fault as u64 => self.runtime_fault(tid),
            _ => Ok(false),
        }
    }

    /// The program's state when the runtime stopped: all is stored.
    pub(crate) fn stored_guest(&mut self, tid: i32) -> Result<TraceeRegisters, TaskError> {
        let mut registers = ptrace::registers(tid)?;
        let (space, number) = self.block_of(tid)?;
        for at in 0..16 {
            let value = space.get(number, block::REGISTERS + 8 * at);
            if let Some(place) = register(&mut registers, at) {
                *place = value;
            }
        }
        registers.eflags = space.get(number, block::FLAGS);
        let site = space.get(number, block::SITE);
        registers.rip = self.site_ip(tid, site)?;
        Ok(registers)
    }

    pub(crate) fn site_ip(&mut self, tid: i32, site: u64) -> Result<u64, TaskError> {
        let mut ip = [0; 8];
        crate::sys::remote::read(tid, site, &mut ip)?;
        Ok(u64::from_le_bytes(ip))
    }

    /// If a thread stopped at a breakpoint of translated code: takes the
    /// program's state from there. Its registers must be in themselves.
    pub(crate) fn take_stop(&mut self, tid: i32) -> Result<bool, TaskError> {
        let mut registers = ptrace::registers(tid)?;
        let (space, number) = self.block_of(tid)?;
        let Some(stop) = space.cache.stop_at(registers.rip.wrapping_sub(1)) else {
            return Ok(false);
        };
        registers.rip = match stop {
            CodeStop::Direct { target } => target,
            CodeStop::Indirect => space.get(number, block::BRANCH),
            CodeStop::BadAddress { next, .. } => {
                registers.rcx = next;
                next
            }
            CodeStop::Syscall { ip, .. }
            | CodeStop::Instruction { ip }
            | CodeStop::Changed { ip } => ip,
            CodeStop::Runtime => {
                if space.get(number, block::EXIT) == block::ExitReason::Name as u64 {
                    self.read_name(tid)?;
                }
                return Ok(false);
            }
            CodeStop::Boundary => return Ok(false),
        };
        self.task(tid)?.guest = Some(registers);
        Ok(true)
    }
}

impl Engine {
    /// Reads the name of a region for a thread whose filter may end who reads it
    /// itself; the thread stands in the runtime, which asks again.
    pub(crate) fn read_name(&mut self, tid: i32) -> Result<(), TaskError> {
        let setup = self.plan.setup.clone();
        let (space, number) = self.block_of(tid)?;
        let address = space.get(number, block::REGISTERS + 8 * RDI);
        let mut name = [0; NAME];
        let there = remote::read(tid, address, &mut name).unwrap_or(0);
        let name = name.get(..there).unwrap_or_default();
        setup.put_name(space.block_words(number), name);
        Ok(())
    }

    /// Whether a thread that stands in the runtime has a mark to write.
    pub(crate) fn is_at_mark(&mut self, tid: i32) -> Result<bool, TaskError> {
        let setup = self.plan.setup.clone();
        let (space, number) = self.block_of(tid)?;
        Ok(setup.has_mark(space.block_words(number)))
    }
}
