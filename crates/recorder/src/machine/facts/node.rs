//! Nodes of memory, from sysfs.

use super::tree::{FactsError, Tree};

const DIRECTORY: &str = "sys/devices/system/node";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeFacts {
    pub number: u32,
    pub total_kib: u64,
    /// KiB, when it was looked at.
    pub free_kib: u64,
    /// Its CPUs, as the kernel writes them ("0-1"); nothing: it has none.
    pub cpus: String,
}

/// Those there are, ascending; none of a kernel that knows of no nodes.
pub(super) fn read(tree: &Tree<'_>) -> Result<Vec<NodeFacts>, FactsError> {
    let names = tree.names(DIRECTORY)?.unwrap_or_default();
    let number = |name: &String| name.strip_prefix("node")?.parse::<u32>().ok();
    let mut numbers: Vec<u32> = names.iter().filter_map(number).collect();
    numbers.sort_unstable();
    let mut nodes = Vec::with_capacity(numbers.len());
    for number in numbers {
        let file = |leaf: &str| format!("{DIRECTORY}/node{number}/{leaf}");
        // As it comes and goes with memory that is plugged.
        let Some(meminfo) = tree.text(file("meminfo"))? else { continue };
        let kib = |key| {
            kib(&meminfo, key)
                .map_err(|(line, word)| tree.malformed(file("meminfo"), line, &word, "size"))
        };
        nodes.push(NodeFacts {
            number,
            total_kib: kib("MemTotal:")?,
            free_kib: kib("MemFree:")?,
            cpus: tree.word(file("cpulist"))?.unwrap_or_default(),
        });
    }
    Ok(nodes)
}

/// `Node 0 MemTotal: 8 kB`: the number behind a key, 0 where it is not told;
/// else the line and the word that is none.
fn kib(meminfo: &str, key: &str) -> Result<u64, (usize, String)> {
    let mut lines =
        meminfo.lines().zip(1..).filter_map(|(line, at)| Some((line.split_once(key)?.1, at)));
    let Some((value, at)) = lines.next() else { return Ok(0) };
    let word = value.split_whitespace().next().unwrap_or_default();
    word.parse().map_err(|_| (at, word.to_owned()))
}
