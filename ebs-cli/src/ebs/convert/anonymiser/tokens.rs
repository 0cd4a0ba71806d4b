//! Names that stand for others: the same one always gets the same.

use std::collections::HashMap;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Kind {
    Thread,
    File,
    Memory,
    Cgroup,
    /// Code that the kernel took in while it ran.
    Program,
}

impl Kind {
    const ALL: [Kind; 5] = [Kind::Thread, Kind::File, Kind::Memory, Kind::Cgroup, Kind::Program];

    fn around(self) -> (&'static str, &'static str) {
        match self {
            Kind::Thread => ("comm-", ""),
            // Readers take what starts with a slash for a file.
            Kind::File => ("/object-", ""),
            Kind::Memory => ("[anon:", "]"),
            Kind::Cgroup => ("/cgroup-", ""),
            Kind::Program => ("bpf_prog_", ""),
        }
    }

    fn plural(self) -> &'static str {
        match self {
            Kind::Thread => "names of threads",
            Kind::File => "files",
            Kind::Memory => "names of memory",
            Kind::Cgroup => "cgroups",
            Kind::Program => "BPF programs",
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Tokens {
    names: HashMap<Kind, HashMap<Vec<u8>, u64>>,
}

impl Tokens {
    /// The number that stands for a name, from 1 on.
    pub(super) fn number(&mut self, kind: Kind, name: &[u8]) -> u64 {
        let names = self.names.entry(kind).or_default();
        if let Some(&number) = names.get(name) {
            return number;
        }
        let number = names.len() as u64 + 1;
        names.insert(name.to_owned(), number);
        number
    }

    pub(super) fn token(&mut self, kind: Kind, name: &[u8]) -> Vec<u8> {
        let (before, after) = kind.around();
        format!("{before}{}{after}", self.number(kind, name)).into_bytes()
    }

    pub(super) fn counts(&self) -> Vec<String> {
        let count =
            |kind: &Kind| Some(format!("{} {}", self.names.get(kind)?.len(), kind.plural()));
        Kind::ALL.iter().filter_map(count).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_names_stay_equal_and_others_do_not() {
        let mut tokens = Tokens::default();
        assert_eq!(tokens.token(Kind::File, b"/home/jo/a"), b"/object-1");
        assert_eq!(tokens.token(Kind::File, b"/home/jo/b"), b"/object-2");
        assert_eq!(tokens.token(Kind::File, b"/home/jo/a"), b"/object-1");
        assert_eq!(tokens.token(Kind::Thread, b"a"), b"comm-1");
        assert_eq!(tokens.counts(), ["1 names of threads", "2 files"]);
    }
}
