//! A stack as a list of frames, and why the list ends where it does.

/// A frame of a stack of user space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StackFrame {
    /// Of the instruction that was about to run, or to which the callee returns.
    pub address: u64,
    pub point: FramePoint,
    /// How it was found.
    pub way: UnwindMethod,
}

/// What the address of a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FramePoint {
    /// An instruction that had not run: the sampled one, the one that a signal
    /// interrupted, the one that ends a signal's handler.
    Instruction,
    /// What comes behind a call, which may belong to another line or routine.
    Return,
}

/// How a frame was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnwindMethod {
    /// The registers say it: the innermost.
    Registers,
    /// By the unwind table of its callee.
    Table,
    /// By its callee's frame pointer, as there is no table for that code: what
    /// keeps none may be passed over.
    FramePointer,
}

/// Why there are no more frames, with a word in brackets for each and what follows "N call
/// chains end early:".
macro_rules! chain_ends {
    ($($(#[$doc:meta])* $end:ident = $tag:literal, $why:literal;)*) => {
        /// Why there are no more frames.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum ChainEnd { $($(#[$doc])* $end,)* }

        impl ChainEnd {
            pub const ALL: [ChainEnd; [$($tag),*].len()] = [$(ChainEnd::$end),*];

            /// One word in brackets, as [`Reason::tag`](crate::Reason::tag).
            pub fn tag(self) -> &'static str {
                match self { $(ChainEnd::$end => $tag,)* }
            }

            /// Why, as what follows "N call chains end early:".
            pub fn why(self) -> &'static str {
                match self { $(ChainEnd::$end => $why,)* }
            }
        }
    };
}

chain_ends! {
    /// Nobody called the last one.
    Root = "[root]", "the outermost frame was reached";
    /// What would tell the next one was not copied.
    CopyTooShort = "[copy-too-short]", "the copy of the stack is too short";
    /// Nothing was copied: the page that the stack pointer is in was not in memory.
    NothingCopied = "[nothing-copied]",
        "nothing of the stack was copied, as its page was not in memory";
    /// The next one is on another stack: that of a coroutine, or the one that
    /// a signal with a stack of its own interrupted.
    OtherStack = "[other-stack]",
        "the caller is on a stack that is not copied: a signal handler's own (sigaltstack) or a coroutine's hides it";
    /// The next address is in nothing that was mapped.
    NotMapped = "[not-mapped]", "the next address is in nothing that was mapped";
    /// No unwind table has the last address, and no frame pointer leads on.
    NoTable = "[no-table]", "no unwind table has the code";
    /// The object with the last address cannot be had, and no frame pointer
    /// leads on.
    NoObject = "[no-object]", "the object cannot be had";
    /// What the unwind table says makes no sense.
    DamagedTable = "[damaged-table]", "the unwind table makes no sense";
    /// The next frame would lie further in.
    NoProgress = "[no-progress]", "the next frame would lie further in";
    /// There may be more than were asked for.
    FrameLimit = "[frame-limit]", "there are more frames than were asked for";
    /// The kernel said that it would tell the rest later, and did not.
    NotSent = "[not-sent]", "what the kernel deferred was not recorded";
    /// The CPU keeps no more calls.
    CallsLimit = "[calls-limit]", "the CPU keeps no more calls";
    /// A 32-bit task, or one without registers.
    UnsupportedAbi = "[unsupported-abi]", "stacks of 32-bit tasks are not unwound";
    /// A machine whose stacks are not unwound here.
    UnsupportedMachine = "[unsupported-machine]", "stacks of this machine are not unwound";
}

impl StackFrame {
    /// The address to look for names, lines and tables by: that of the call
    /// where the frame has a return address.
    #[inline]
    pub fn code(&self) -> u64 {
        match self.point {
            FramePoint::Instruction => self.address,
            FramePoint::Return => self.address.wrapping_sub(1),
        }
    }
}

/// How many chains ended why.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChainEnds {
    counts: [u64; ChainEnd::ALL.len()],
}

impl ChainEnds {
    /// Counts so many chains that ended so.
    pub fn add(&mut self, end: ChainEnd, chains: u64) {
        if let Some(place) = ChainEnd::ALL.iter().position(|it| *it == end) {
            self.counts[place] = self.counts[place].saturating_add(chains);
        }
    }

    /// All causes of which there were any, and how many chains of each.
    pub fn iter(&self) -> impl Iterator<Item = (ChainEnd, u64)> + '_ {
        ChainEnd::ALL.into_iter().zip(self.counts).filter(|(_, chains)| *chains > 0)
    }

    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// What a reader must know of chains that end before the outermost frame,
    /// a sentence. None: no stack was unwound, nor was one to be sent, nor do
    /// calls lack.
    pub fn note(&self) -> Option<String> {
        let of = |wanted| self.iter().find(|(end, _)| *end == wanted);
        let recorded = [ChainEnd::NotSent, ChainEnd::CallsLimit];
        let unwound: Vec<_> = self.iter().filter(|(end, _)| !recorded.contains(end)).collect();
        let total: u64 = unwound.iter().map(|it| it.1).sum();
        let early: Vec<_> = unwound.iter().filter(|(end, _)| *end != ChainEnd::Root).collect();
        let causes: Vec<String> =
            early.iter().map(|(end, chains)| format!("{} ({chains})", end.why())).collect();
        let (ended, causes): (u64, _) = (early.iter().map(|it| it.1).sum(), causes.join(", "));
        let said = match ended {
            0 => "all to the outermost frame".to_owned(),
            _ => format!("{ended} of them end early: {causes}"),
        };
        let unwound =
            (total > 0).then(|| format!("{total} stacks of user space were unwound, {said}"));
        let unsent = of(ChainEnd::NotSent).map(|(end, chains)| {
            format!("{chains} call chains are without user space's part: {}", end.why())
        });
        let limited = of(ChainEnd::CallsLimit)
            .map(|(end, chains)| format!("{chains} call chains are cut off: {}", end.why()));
        let said: Vec<String> = [unwound, unsent, limited].into_iter().flatten().collect();
        (!said.is_empty()).then(|| said.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_told_by_cause() {
        let mut ends = ChainEnds::default();
        assert_eq!(ends.note(), None);
        ends.add(ChainEnd::Root, 3);
        let all = "3 stacks of user space were unwound, all to the outermost frame";
        assert_eq!(ends.note().as_deref(), Some(all));
        ends.add(ChainEnd::CopyTooShort, 2);
        let early = "5 stacks of user space were unwound, 2 of them end early: the copy of the \
                     stack is too short (2)";
        assert_eq!(ends.note().as_deref(), Some(early));
        assert_eq!(ends.total(), 5);
        ends.add(ChainEnd::NotSent, 7);
        let unsent = "7 call chains are without user space's part: what the kernel deferred was \
                      not recorded";
        assert_eq!(ends.note(), Some(format!("{early}; {unsent}")));
        ends.add(ChainEnd::CallsLimit, 9);
        let limited = "9 call chains are cut off: the CPU keeps no more calls";
        assert_eq!(ends.note(), Some(format!("{early}; {unsent}; {limited}")));
        let mut alone = ChainEnds::default();
        alone.add(ChainEnd::NotSent, 7);
        assert_eq!(alone.note().as_deref(), Some(unsent));
    }
}
