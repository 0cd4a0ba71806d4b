//! What a row of a table stands for.

use crate::query::nearest::nearest;
use crate::query::time::{TimeError, TimeStep};
use perfdata::data_src::DataSrcAspect;
use std::fmt;
use std::str::FromStr;

/// One thing to count by; several make a row's identity together.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Key {
    /// Object and address in it: the instruction, the same in all processes.
    Site,
    /// Instruction pointer as sampled, a run-time address.
    Ip,
    /// Name of the routine, wherever in it.
    Routine,
    /// The routine, and what was inlined into it at the instruction, down to
    /// the innermost.
    Inlined,
    /// Source file and line of the instruction, in the innermost routine.
    Srcline,
    /// The innermost routine, and how many lines the instruction's is below the first of its
    /// text: the same in builds where that stands elsewhere.
    RoutineLine,
    /// The routine, and what the instruction does, without the registers and addresses that a
    /// build chose.
    Operands,
    /// The routine that called the instruction's: the first of another name on
    /// the call chain.
    Caller,
    /// The routine that the outermost one of the call chain called: the first of
    /// another name. What it is good for is [`FrameCut::callees`](crate::FrameCut).
    Callee,
    /// The whole call chain by routines, outermost first.
    Stack,
    /// File, or the kernel or module, that holds the instruction.
    Object,
    /// Command name of the thread at the time of the sample.
    Comm,
    /// The regions that the program says its thread is in, outermost first.
    Region,
    /// Process id.
    Pid,
    /// Thread id.
    Tid,
    /// Logical CPU number.
    Cpu,
    /// Data address.
    Addr,
    /// First byte of the cache line that holds the data address.
    Line,
    /// First byte of the page that holds the data address.
    Page,
    /// What the instruction before the sampled one accessed, worked out of the
    /// registers where a timer interrupted the program.
    AddrBefore,
    /// The data address: variable and offset where it has one.
    Data,
    /// Name of the variable, or of the memory, that holds the data address.
    Variable,
    /// Where the program asked for the block of the heap that holds the data address: the
    /// innermost call of its own.
    Alloc,
    /// Source file and line of that.
    AllocLine,
    /// The block itself: its bytes, its address, its number.
    Block,
    /// What holds the data address: a block of the heap by where the program asked for it, a
    /// variable of a routine's frame, a thread's stack, a static variable, else what is mapped.
    Holder,
    /// The type of what is accessed.
    Type,
    /// The member of that which is accessed.
    Member,
    /// What the data source says of the access.
    Access(DataSrcAspect),
    /// Why the sampled miss is one.
    Miss,
    /// A part of the run, so long each.
    Time(TimeStep),
    /// Value of a register; the name in any usual spelling ("rcx", "cx").
    Register(String),
}

/// Why a word is no key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// No such word.
    #[error("{word:?} is nothing to count by; {}", suggestion(.nearest))]
    Unknown {
        /// The word as typed.
        word: String,
        /// Known words like it, best first.
        nearest: Vec<&'static str>,
    },
    /// `reg:` alone.
    #[error("\"reg:\" needs the name of a register, such as reg:rcx")]
    NoRegister,
    /// `time:` without a length of time.
    #[error(transparent)]
    Time(#[from] TimeError),
    /// The list names a key twice.
    #[error("{word:?} is there twice in {list:?}")]
    Twice {
        /// The repeated word.
        word: String,
        /// The whole list.
        list: String,
    },
}

const WORDS: [(&str, Key); 35] = [
    ("site", Key::Site),
    ("ip", Key::Ip),
    ("routine", Key::Routine),
    ("inlined", Key::Inlined),
    ("srcline", Key::Srcline),
    ("routine-line", Key::RoutineLine),
    ("operands", Key::Operands),
    ("caller", Key::Caller),
    ("callee", Key::Callee),
    ("stack", Key::Stack),
    ("object", Key::Object),
    ("comm", Key::Comm),
    ("region", Key::Region),
    ("pid", Key::Pid),
    ("tid", Key::Tid),
    ("cpu", Key::Cpu),
    ("addr", Key::Addr),
    ("line", Key::Line),
    ("page", Key::Page),
    ("addr-before", Key::AddrBefore),
    ("data", Key::Data),
    ("variable", Key::Variable),
    ("alloc", Key::Alloc),
    ("alloc-line", Key::AllocLine),
    ("block", Key::Block),
    ("holder", Key::Holder),
    ("type", Key::Type),
    ("member", Key::Member),
    ("level", Key::Access(DataSrcAspect::Level)),
    ("op", Key::Access(DataSrcAspect::Operation)),
    ("snoop", Key::Access(DataSrcAspect::Snoop)),
    ("tlb", Key::Access(DataSrcAspect::Tlb)),
    ("lock", Key::Access(DataSrcAspect::Lock)),
    ("blk", Key::Access(DataSrcAspect::Blocked)),
    ("miss", Key::Miss),
];

/// What other profilers call some keys.
const ELSEWHERE: [(&str, &str); 12] = [
    ("sym", "routine"),
    ("symbol", "routine"),
    ("func", "routine"),
    ("function", "routine"),
    ("dso", "object"),
    ("file", "object"),
    ("module", "object"),
    ("source", "srcline"),
    ("mem", "level"),
    ("parent", "caller"),
    ("thread", "tid"),
    ("process", "pid"),
];

fn suggestion(nearest: &[&'static str]) -> String {
    if nearest.is_empty() {
        let words: Vec<&str> = WORDS.iter().map(|(word, _)| *word).collect();
        format!("possible are {}, time:SPAN, reg:NAME", words.join(", "))
    } else {
        format!("did you mean {}?", nearest.join(" or "))
    }
}

impl Key {
    /// Whether its values are names of routines.
    pub(crate) fn is_routine(&self) -> bool {
        matches!(self, Key::Routine | Key::Inlined | Key::Caller | Key::Callee)
    }

    /// Whether it is worked out of debug info, once all places are known.
    pub(crate) fn is_of_lines(&self) -> bool {
        matches!(self, Key::Inlined | Key::Srcline | Key::RoutineLine | Key::AllocLine)
    }

    /// Whether it is in words once all is counted.
    pub(crate) fn is_named_late(&self) -> bool {
        self.is_of_lines() || self.is_of_types() || matches!(self, Key::Block | Key::Holder)
    }

    pub(crate) fn is_of_types(&self) -> bool {
        matches!(self, Key::Type | Key::Member)
    }

    /// Every word that stands for a key but `reg:NAME`.
    pub fn words() -> impl Iterator<Item = &'static str> {
        WORDS.iter().map(|(word, _)| *word)
    }

    pub(crate) fn aspect_word(aspect: DataSrcAspect) -> &'static str {
        let of = WORDS.iter().find(|(_, key)| *key == Key::Access(aspect));
        of.map_or("", |(word, _)| word)
    }

    pub(crate) fn aspect(word: &str) -> Option<DataSrcAspect> {
        let known = WORDS.iter().find(|(known, _)| *known == word);
        known.and_then(|(_, key)| if let Key::Access(aspect) = key { Some(*aspect) } else { None })
    }

    /// Reads a list such as `routine,line`; its order is the order of the
    /// columns.
    pub fn parse_list(list: &str) -> Result<Vec<Key>, KeyError> {
        let mut keys = Vec::new();
        for word in list.split(',') {
            let key: Key = word.trim().parse()?;
            if keys.contains(&key) {
                return Err(KeyError::Twice { word: word.trim().into(), list: list.into() });
            }
            keys.push(key);
        }
        Ok(keys)
    }
}

impl FromStr for Key {
    type Err = KeyError;

    fn from_str(word: &str) -> Result<Key, KeyError> {
        if let Some(name) = word.strip_prefix("reg:") {
            if name.is_empty() {
                return Err(KeyError::NoRegister);
            }
            return Ok(Key::Register(name.to_ascii_lowercase()));
        }
        if let Some(step) = word.strip_prefix("time:") {
            return Ok(Key::Time(step.parse()?));
        }
        if let Some((_, key)) = WORDS.iter().find(|(known, _)| *known == word) {
            return Ok(key.clone());
        }
        let elsewhere = ELSEWHERE.iter().find(|(theirs, _)| *theirs == word);
        let nearest = match elsewhere {
            Some((_, ours)) => vec![*ours],
            None => nearest(word, Key::words()),
        };
        Err(KeyError::Unknown { word: word.into(), nearest })
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Key::Register(name) => return write!(f, "reg:{name}"),
            Key::Time(step) => return write!(f, "time:{step}"),
            _ => {}
        }
        let word = WORDS.iter().find(|(_, key)| key == self).map_or("", |(word, _)| word);
        f.pad(word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_keys_are_one_to_one() {
        for word in Key::words() {
            assert_eq!(word.parse::<Key>().unwrap().to_string(), word);
        }
        assert_eq!("time:100ms".parse::<Key>().unwrap().to_string(), "time:100ms");
        assert_eq!("reg:RCX".parse::<Key>().unwrap().to_string(), "reg:rcx");
    }

    #[test]
    fn lists_keep_their_order() {
        let keys = Key::parse_list("routine, line,reg:cx").unwrap();
        assert_eq!(keys, [Key::Routine, Key::Line, Key::Register("cx".into())]);
    }

    #[test]
    fn errors_help() {
        let text = |list: &str| Key::parse_list(list).unwrap_err().to_string();
        assert_eq!(
            text("routin"),
            "\"routin\" is nothing to count by; did you mean routine or routine-line?"
        );
        assert_eq!(
            text("zzzzz"),
            "\"zzzzz\" is nothing to count by; possible are site, ip, routine, inlined, srcline, routine-line, operands, caller, callee, stack, object, \
             comm, region, pid, tid, cpu, addr, line, page, addr-before, data, variable, alloc, alloc-line, block, holder, type, member, level, op, snoop, tlb, lock, blk, miss, time:SPAN, reg:NAME"
        );
        assert!(text("").starts_with("\"\" is nothing to count by"));
        assert!(text("pid,").starts_with("\"\" is nothing to count by"));
        assert_eq!(text("reg:"), "\"reg:\" needs the name of a register, such as reg:rcx");
        assert_eq!(text("pid,tid,pid"), "\"pid\" is there twice in \"pid,tid,pid\"");
    }
}
