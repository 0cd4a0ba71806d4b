//! The word as `perf script` spells it, so that its readers' scripts work:
//! `|OP LOAD|LVL L1 hit|SNP None|TLB L1 or L2 hit|LCK No|BLK  N/A`.
//!
//! perf joins what the deprecated level bits and the level number say
//! ("L1 or L1 hit"). Numbers that perf 6.1 does not know yet (it prints "L5"
//! for 5) have their names here.

use super::DataSrc;
use std::fmt::{self, Display, Formatter};

/// `mem_op`, the first that is set.
const OPERATIONS: [&str; 5] = ["N/A", "LOAD", "STORE", "PFETCH", "EXEC"];

/// `mem_lvl` without hit and miss.
const LEVELS: [&str; 14] = [
    "N/A",
    "",
    "",
    "L1",
    "LFB/MAB",
    "L2",
    "L3",
    "Local RAM",
    "Remote RAM (1 hop)",
    "Remote RAM (2 hops)",
    "Remote Cache (1 hop)",
    "Remote Cache (2 hops)",
    "I/O",
    "Uncached",
];

/// `mem_lvl_num`; 0 says nothing.
const LEVEL_NUMBERS: [&str; 16] = [
    "",
    "L1",
    "L2",
    "L3",
    "L4",
    "L2 MHB",
    "MSC",
    "L0",
    "Uncached",
    "CXL",
    "I/O",
    "Any cache",
    "LFB/MAB",
    "RAM",
    "PMEM",
    "N/A",
];

/// `mem_hops`; numbers above are not given out yet.
const HOPS: [&str; 5] =
    ["", "core, same node ", "node, same socket ", "socket, same board ", "board "];

/// `mem_snoop`, and from bit 5 on `mem_snoopx`.
const SNOOPS: [&str; 7] = ["N/A", "None", "Hit", "Miss", "HitM", "Fwd", "Peer"];

/// `mem_dtlb` without hit and miss.
const TLBS: [&str; 7] = ["N/A", "", "", "L1", "L2", "Walker", "Fault"];

/// A word in perf's spelling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PerfText(pub DataSrc);

impl Display for PerfText {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let word = self.0;
        let operations = word.field(0, 5);
        let operation = (0..5).find(|bit| operations >> bit & 1 == 1);
        write!(f, "|OP {}|LVL ", operation.map_or("No", |bit| OPERATIONS[bit]))?;
        level(word, f)?;
        f.write_str("|SNP ")?;
        either(u32::from(word.field(19, 5) | word.field(38, 2) << 5), &SNOOPS, "N/A", f)?;
        f.write_str("|TLB ")?;
        let tlb = word.field(26, 7);
        either(u32::from(tlb & !6), &TLBS, "N/A", f)?;
        outcome(tlb, f)?;
        let lock = word.field(24, 2);
        let lock = match (lock & 1, lock & 2) {
            (1, _) => "N/A",
            (_, 0) => "No",
            _ => "Yes",
        };
        write!(f, "|LCK {lock}|BLK ")?;
        let blocked = word.field(40, 3);
        if blocked == 0 || blocked & 1 == 1 {
            return f.write_str(" N/A");
        }
        f.write_str(if blocked & 2 == 0 { "" } else { " Data" })?;
        f.write_str(if blocked & 4 == 0 { "" } else { " Addr" })
    }
}

fn level(word: DataSrc, f: &mut Formatter<'_>) -> fmt::Result {
    let (remote, hops) = (word.field(37, 1) == 1, word.field(43, 3));
    let number = usize::from(word.field(33, 4));
    let deprecated = u32::from(word.field(5, 8) & !6) | u32::from(word.field(13, 6)) << 8;
    f.write_str(if remote { "Remote " } else { "" })?;
    let said_before = match hops {
        0 => {
            either(deprecated, &LEVELS, "", f)?;
            deprecated != 0
        }
        hops => {
            f.write_str(HOPS.get(usize::from(hops)).copied().unwrap_or("hops unknown "))?;
            false
        }
    };
    if number != 0 {
        f.write_str(if said_before { " or " } else { "" })?;
        f.write_str(LEVEL_NUMBERS.get(number).copied().unwrap_or_default())?;
    } else if !said_before && !remote && hops == 0 {
        f.write_str("N/A")?;
    }
    outcome(word.field(5, 3), f)
}

/// The names of the bits that are set, or `none`.
fn either(bits: u32, names: &[&str], none: &str, f: &mut Formatter<'_>) -> fmt::Result {
    if bits == 0 {
        return f.write_str(none);
    }
    let mut between = "";
    for (bit, name) in names.iter().enumerate() {
        if bits >> bit & 1 == 1 {
            f.write_str(between)?;
            f.write_str(name)?;
            between = " or ";
        }
    }
    Ok(())
}

/// Bit 1 hit, bit 2 miss.
fn outcome(bits: u8, f: &mut Formatter<'_>) -> fmt::Result {
    f.write_str(if bits & 2 == 0 { "" } else { " hit" })?;
    f.write_str(if bits & 4 == 0 { "" } else { " miss" })
}

#[cfg(test)]
mod tests {
    use super::{DataSrc, PerfText};

    /// Words and what perf script 6.1 printed of them.
    #[test]
    fn perf_prints_the_same() {
        for (word, text) in include_str!("perf_6.1.txt").lines().filter_map(|line| {
            let (word, text) = line.trim_start().split_once(' ')?;
            Some((u64::from_str_radix(word, 16).expect("is hexadecimal"), text))
        }) {
            // perf cuts the word and its text at 99 characters.
            let ours = PerfText(DataSrc(word)).to_string();
            let shown = ours.get(..99 - 17).unwrap_or(&ours);
            assert_eq!(shown, text, "{word:x}");
        }
    }

    #[test]
    fn levels_that_perf_6_1_does_not_know_have_names() {
        for (number, name) in [(5, "L2 MHB"), (6, "MSC"), (7, "L0"), (8, "Uncached")] {
            let word = DataSrc(2 | number << 33);
            assert!(PerfText(word).to_string().starts_with(&format!("|OP LOAD|LVL {name}|")));
        }
    }
}
