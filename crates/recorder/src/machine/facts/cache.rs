//! Caches of CPU 0, from sysfs.

use super::tree::{FactsError, Tree};

const DIRECTORY: &str = "sys/devices/system/cpu/cpu0/cache";

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CacheKind {
    Data,
    Instruction,
    Unified,
}

/// One cache as CPU 0 sees it; `None` is unknown (virtual machines often
/// leave fields out).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheFacts {
    /// 1 is nearest to the core.
    pub level: u32,
    pub kind: CacheKind,
    /// Size, bytes.
    pub bytes: Option<u64>,
    /// Line size, bytes.
    pub line_bytes: Option<u32>,
    /// Ways of associativity; 0 is fully associative.
    pub ways: Option<u32>,
    pub sets: Option<u32>,
    /// CPUs that share it, as the kernel writes it ("0-1").
    pub shared_by: Option<String>,
}

pub(super) fn read(tree: &Tree<'_>) -> Result<Vec<CacheFacts>, FactsError> {
    let mut caches = Vec::new();
    let mut names = tree.names(DIRECTORY)?.unwrap_or_default();
    names.retain(|name| name.starts_with("index"));
    names.sort_by_key(|name| name["index".len()..].parse::<u32>().unwrap_or(u32::MAX));
    for name in names {
        let file = |leaf: &str| format!("{DIRECTORY}/{name}/{leaf}");
        let Some(level) = tree.number(file("level"))? else { continue };
        let kind = match tree.word(file("type"))?.as_deref() {
            Some("Data") => CacheKind::Data,
            Some("Instruction") => CacheKind::Instruction,
            Some("Unified") => CacheKind::Unified,
            Some(other) => return Err(tree.malformed(file("type"), 1, other, "type of cache")),
            None => continue,
        };
        caches.push(CacheFacts {
            level,
            kind,
            bytes: size(tree, &file("size"))?,
            line_bytes: tree.number(file("coherency_line_size"))?,
            ways: tree.number(file("ways_of_associativity"))?,
            sets: tree.number(file("number_of_sets"))?,
            shared_by: tree.word(file("shared_cpu_list"))?,
        });
    }
    Ok(caches)
}

/// "32K", "8M" or a number of bytes.
fn size(tree: &Tree<'_>, file: &str) -> Result<Option<u64>, FactsError> {
    let Some(word) = tree.word(file)? else { return Ok(None) };
    let (digits, unit) = match word.as_bytes().last() {
        Some(b'K') => (&word[..word.len() - 1], 1 << 10),
        Some(b'M') => (&word[..word.len() - 1], 1 << 20),
        _ => (word.as_str(), 1),
    };
    let bytes = digits.parse::<u64>().ok().and_then(|number| number.checked_mul(unit));
    bytes.map(Some).ok_or_else(|| tree.malformed(file, 1, &word, "cache size"))
}
