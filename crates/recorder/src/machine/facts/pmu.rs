//! PMUs that the kernel offers: /sys/bus/event_source/devices.

use perfdata::{Cpu, EventType};

use super::PmuDescription;
use super::cpu::cpu_list;
use super::tree::{FactsError, Tree};

/// Where the kernel lists its PMUs.
pub(super) const DEVICES: &str = "sys/bus/event_source/devices";

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pmu {
    /// Its directory's name: "cpu", "cpu_core", "ibs_op", "software".
    pub name: String,
    /// The number for `perf_event_attr.type`; None when it has none.
    pub kind: Option<EventType>,
    /// CPUs to open its events on, ascending: `cpus` (those it belongs to)
    /// or `cpumask` (one of each group that shares it). None when the PMU
    /// has neither file, or was not described.
    pub cpus: Option<Vec<Cpu>>,
    pub description: Option<PmuDescription>,
}

impl Pmu {
    /// Whether this PMU counts or samples what a CPU core does: "cpu",
    /// "cpu_core", "cpu_atom", Arm's "armv8_*" and kin, s390's "cpum_*",
    /// and the sampling units AMD IBS and Arm SPE.
    pub fn is_core(&self) -> bool {
        matches!(self.name.as_str(), "cpu" | "cpu_core" | "cpu_atom" | "cpu_lowpower")
            || ["armv6", "armv7", "armv8", "armv9", "cpum_", "ibs_", "arm_spe", "apple_"]
                .iter()
                .any(|start| self.name.starts_with(start))
    }

    /// Whether this PMU has counters of a CPU core: no sampling unit beside
    /// them.
    pub fn counts_events(&self) -> bool {
        self.is_core()
            && !["ibs_", "arm_spe", "cpum_cf"].iter().any(|start| self.name.starts_with(start))
    }

    /// The highest `precise_ip` that it says it takes (caps/max_precise; 0 on
    /// every AMD, IBS or not); None: it does not say.
    pub fn most_precise(&self) -> Option<u8> {
        self.description.as_ref()?.caps.get("max_precise")?.trim().parse().ok()
    }

    /// Whether it says what it can and names no branch records, which a kernel
    /// that found some does (caps/branches, since Linux 4.14).
    pub fn lacks_branches(&self) -> bool {
        let caps = self.description.as_ref().map(|description| &description.caps);
        caps.is_some_and(|caps| caps.contains_key("max_precise") && !caps.contains_key("branches"))
    }

    /// Reads CPUs and description, unless that was done.
    pub(super) fn describe(&mut self, tree: &Tree<'_>, devices: &str) -> Result<(), FactsError> {
        if self.description.is_none() {
            let directory = format!("{devices}/{}", self.name);
            self.cpus = match read_cpus(tree, &format!("{directory}/cpus"))? {
                None => read_cpus(tree, &format!("{directory}/cpumask"))?,
                cpus => cpus,
            };
            self.description = Some(PmuDescription::read(tree, &directory)?);
        }
        Ok(())
    }
}

/// A list of CPUs; an empty one when all of the PMU's are offline.
fn read_cpus(tree: &Tree<'_>, file: &str) -> Result<Option<Vec<Cpu>>, FactsError> {
    let Some(text) = tree.attribute(file)? else { return Ok(None) };
    if text.trim().is_empty() {
        return Ok(Some(Vec::new()));
    }
    let wrong = |token: String| tree.malformed(file, 1, &token, "CPU or range of CPUs");
    cpu_list(&text).map(Some).map_err(wrong)
}

/// Name and number of every PMU in `devices`; None when there is no such
/// directory. Servers have hundreds, most of them outside the cores: those
/// are described on demand.
pub(super) fn read(tree: &Tree<'_>, devices: &str) -> Result<Option<Vec<Pmu>>, FactsError> {
    let Some(names) = tree.names(devices)? else { return Ok(None) };
    let mut pmus = Vec::new();
    for name in names {
        let directory = format!("{devices}/{name}");
        if name.bytes().any(|byte| byte.is_ascii_control() || byte >= 0x80) {
            return Err(tree.malformed(devices, 1, &name, "name of a PMU"));
        }
        let file = format!("{directory}/type");
        let kind = match tree.attribute(&file)?.as_deref().map(str::trim) {
            None | Some("") if tree.path(&directory).is_dir() => None,
            None | Some("") => continue,
            Some(word) => {
                let number = word.parse();
                Some(number.map_err(|_| tree.malformed(&file, 1, word, "number in range"))?)
            }
        };
        pmus.push(Pmu { name, kind: kind.map(EventType), ..Pmu::default() });
    }
    Ok(Some(pmus))
}

#[cfg(test)]
mod tests {
    //! PMUs of whole trees: other machines', and trees that make no sense.

    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::Path;

    use perfdata::{Arch, Cpu};
    use proptest::prelude::*;
    use tempfile::TempDir;

    use super::*;
    use crate::machine::facts::{FixtureTrees, Hypervisor, Version};
    use crate::machine::pmu_format::{TermFormat, Terms};
    use crate::{Facts, Modes, Request, Target};

    fn tree(files: &[(&str, &[u8])]) -> TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, content) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        root
    }

    fn error(dir: &Path) -> String {
        Facts::read_tree(dir, None).unwrap_err().to_string()
    }

    #[test]
    fn every_tree_reads() {
        let trees = FixtureTrees::unpack();
        for machine in trees.machines() {
            let facts = Facts::read_tree(&trees.path(&machine), Some(Version(6, 15, 0))).unwrap();
            let known = facts.kernel.machine.as_deref();
            let expected = if machine == "neoverse-n1-spe" { "aarch64" } else { "x86_64" };
            assert_eq!(known, Some(expected), "{machine}");
            assert_eq!(facts.kernel.version, Some(Version(6, 15, 0)));
            assert_eq!(facts.cpus.online, None);
            assert_eq!(facts.has_core_pmu(), machine != "kvm-guest-no-pmu", "{machine}");
            assert!(facts.pmus.unwrap().iter().all(|pmu| pmu.description.is_some()), "{machine}");
        }
    }

    #[test]
    fn hybrids_know_their_cpus() {
        let trees = FixtureTrees::of(&[
            "alderlake-hybrid",
            "neoverse-n1-spe",
            "sandybridge-ep-real-2013",
            "kvm-guest-no-pmu",
        ]);
        let facts = trees.facts("alderlake-hybrid");
        let cpus = |name| facts.pmu(name).unwrap().cpus.clone().unwrap();
        assert_eq!(cpus("cpu_core"), (0..16).map(Cpu).collect::<Vec<_>>());
        assert_eq!(cpus("cpu_atom"), (16..24).map(Cpu).collect::<Vec<_>>());
        assert_eq!(facts.pmu("cpu_core").unwrap().kind, Some(EventType::RAW));
        assert_eq!(facts.pmu("cpu"), None);
        assert_eq!((facts.cpus.family, facts.cpus.model), (Some(6), Some(151)));
        let caps = &facts.pmu("cpu_atom").unwrap().description.as_ref().unwrap().caps;
        assert_eq!(caps["pmu_name"], "alderlake_hybrid");
        let spe = trees.facts("neoverse-n1-spe");
        assert_eq!(spe.pmu("arm_spe_0").unwrap().cpus.as_ref().unwrap().len(), 80, "cpumask");
        assert_eq!(spe.kernel.arch(), Arch::Aarch64);
        let old = trees.facts("sandybridge-ep-real-2013");
        assert_eq!(old.pmu("cpu").unwrap().cpus, None);
        assert_eq!(old.pmu("uncore_ha").unwrap().cpus, Some(vec![Cpu(0), Cpu(8)]));
        assert_eq!(old.cpus.vendor, None);
        assert_eq!(trees.facts("kvm-guest-no-pmu").hypervisor, Hypervisor::Unnamed);
    }

    #[test]
    fn what_is_missing_is_unknown() {
        let root = tree(&[("devices/cpu/format/event", b"config:0-7")]);
        let facts = Facts::read_tree(root.path(), None).unwrap();
        let cpu = facts.pmu("cpu").unwrap();
        assert_eq!((cpu.kind, &cpu.cpus), (None, &None));
        assert_eq!(facts.kernel, crate::machine::facts::KernelFacts::default());
        assert_eq!(cpu.description.as_ref().unwrap().caps.len(), 0);
        let offline = tree(&[("devices/cpu_atom/cpus", b"\n"), ("devices/cpu_atom/type", b"10\n")]);
        let facts = Facts::read_tree(offline.path(), None).unwrap();
        assert_eq!(facts.pmu("cpu_atom").unwrap().cpus, Some(Vec::new()), "all offline");
    }

    #[test]
    fn only_what_is_asked_for_is_described() {
        let devices = "sys/bus/event_source/devices";
        let root = tree(&[
            (&format!("{devices}/cpu/format/event"), b"config:0-7\n"),
            (&format!("{devices}/uncore_imc_0/format/event"), b"config:0-7\n"),
            (&format!("{devices}/uncore_imc_0/type"), b"11\n"),
            (&format!("{devices}/uncore_imc_1/type"), b"12\n"),
        ]);
        let described = |facts: &Facts| {
            let pmus = facts.pmus.as_ref().unwrap().iter();
            pmus.filter(|pmu| pmu.description.is_some()).count()
        };
        let mut facts = Facts::read(root.path()).unwrap();
        assert_eq!(described(&facts), 1);
        assert_eq!(facts.pmu("uncore_imc_0").unwrap().kind, Some(EventType(11)));
        let request = Request::new("uncore_imc_0/event=1/", Modes::BOTH, Target::System);
        let asked = Facts::read_for(root.path(), &request).unwrap();
        assert!(asked.pmu("uncore_imc_0").unwrap().description.is_some());
        assert_eq!(described(&asked), 2);
        facts.read_all_pmus(root.path()).unwrap();
        assert_eq!(described(&facts), 3);
    }

    #[test]
    fn a_directory_without_a_tree_says_what_is_wanted() {
        let root = tree(&[("cpuinfo", b"")]);
        for dir in [root.path().to_owned(), root.path().join("none"), root.path().join("cpuinfo")] {
            let text = error(&dir);
            assert!(text.contains("holds devices/ (a copy of"), "{text}");
            assert!(text.starts_with(dir.to_str().unwrap()), "{text}");
        }
        fs::write(root.path().join("devices"), "").unwrap();
        assert!(error(root.path()).contains("devices is no directory"), "a file is none");
    }

    #[test]
    fn nonsense_in_a_tree_is_named() {
        let long = [b"9".repeat(5000), b"x".repeat(1 << 20)];
        for (path, content, part) in [
            (
                "devices/cpu/type",
                &b"\x1b[31m\xff\0"[..],
                "type:1: \"\\u{1b}[31m\u{fffd}\\0\" is no number",
            ),
            ("devices/cpu/type", b"-4", "type:1: \"-4\" is no number"),
            ("devices/cpu/type", b"4294967296", "\"4294967296\" is no number"),
            ("devices/cpu/type", &long[0], "type is too large: more than 4096 bytes"),
            ("devices/cpu/cpus", b"0-7,", "cpus:1: \"\" is no CPU"),
            ("devices/cpu/cpus", b"0-99999999", "is no CPU or range"),
            ("devices/cpu/cpumask", &long[1], "cpumask is too large"),
            ("devices/c\x07pu/type", b"4", "\"c\\u{7}pu\" is no name of a PMU"),
            ("cpuinfo", &long[1], "cpuinfo:1: \"xxx"),
            (
                "cpuinfo",
                b"vendor_id : GenuineIntel\ncpu family : six\n",
                "cpuinfo:2: \"six\" is no number",
            ),
            ("devices/cpu/type/x", b"", "type is no regular file"),
            ("cpuinfo/x", b"", "cpuinfo is no regular file"),
        ] {
            let root = tree(&[("devices/software/type", b"1"), (path, content)]);
            let text = error(root.path());
            assert!(text.contains(part) && text.len() < 300, "{path}: {text}");
        }
    }

    #[test]
    fn links_that_loop_and_files_that_never_end() {
        let root = tree(&[("devices/software/type", b"1")]);
        let at = |path: &str| root.path().join(path);
        symlink(at("devices/loop"), at("devices/loop")).unwrap();
        assert!(error(root.path()).contains("loop"), "{}", error(root.path()));
        fs::remove_file(at("devices/loop")).unwrap();

        symlink("..", at("devices/up")).unwrap();
        Facts::read_tree(root.path(), None).expect("a link upwards is followed once");
        fs::remove_file(at("devices/up")).unwrap();

        symlink("/dev/zero", at("devices/software/cpus")).unwrap();
        assert!(error(root.path()).contains("cpus is no regular file"));
        fs::remove_file(at("devices/software/cpus")).unwrap();

        rustix::fs::mknodat(
            rustix::fs::CWD,
            at("cpuinfo"),
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR,
            0,
        )
        .unwrap();
        assert!(error(root.path()).contains("cpuinfo is no regular file"), "a pipe would block");
    }

    #[test]
    fn one_bad_file_costs_one_term() {
        let root = tree(&[
            ("devices/cpu/type", b"4"),
            ("devices/cpu/format/event", b"config:0-7"),
            ("devices/cpu/format/umask/x", b""),
            ("devices/cpu/format/odd", b"\0\xffconfig:1"),
            ("devices/cpu/format/huge", &b"config:1,".repeat(1000)),
            ("devices/cpu/events/good", b"event=1"),
            ("devices/cpu/events/bad/x", b""),
            ("devices/cpu/events/binary", b"\0\x01\x02=\x03"),
            ("devices/cpu/events/good.scale/x", b""),
            ("devices/cpu/events/alone.unit", b"J"),
            ("devices/cpu/caps/max_precise", b"3\n"),
            ("devices/cpu/caps/odd/x", b""),
        ]);
        let facts = Facts::read_tree(root.path(), None).unwrap();
        let cpu = facts.pmu("cpu").unwrap().description.as_ref().unwrap();
        assert_eq!(cpu.caps.len(), 1);
        assert_eq!(cpu.aliases.keys().collect::<Vec<_>>(), ["bad", "binary", "good"]);
        assert_eq!(cpu.aliases["good"].scale, None);
        assert!(matches!(cpu.formats.get("odd"), Some(TermFormat::Unknown(_))));
        let pack = |text| cpu.pack(&Terms::parse(text).unwrap(), |_| None);
        assert_eq!(pack("good").unwrap().config.words[0], 1);
        for (text, part) in [
            ("umask=1", "term umask: "),
            ("umask=1", "is no regular file"),
            ("huge=1", "is too large"),
            ("odd=1", "is not known here"),
            ("bad", "is no regular file"),
            ("binary", "makes no sense"),
        ] {
            let error = pack(text).unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn a_directory_of_too_many_files() {
        let root = tree(&[("devices/software/type", b"1")]);
        for number in 0..=1 << 14 {
            fs::write(root.path().join(format!("devices/{number}")), "").unwrap();
        }
        assert!(error(root.path()).contains("more than 16384 files"));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_bytes_anywhere_are_facts_or_an_error(
            index in 0..7_usize,
            content in proptest::collection::vec(any::<u8>(), 0..80),
        ) {
            let path = [
                "devices/cpu/type", "devices/cpu/cpus", "devices/cpu/format/event", "cpuinfo",
                "devices/cpu/events/mem-loads", "devices/cpu/events/mem-loads.scale",
                "devices/cpu/caps/max_precise",
            ][index];
            let root = tree(&[("devices/cpu/format/umask", b"config:8-15"), (path, &content)]);
            match Facts::read_tree(root.path(), None) {
                Ok(facts) => {
                    let cpu = facts.pmu("cpu").unwrap().description.clone().unwrap();
                    if let Err(error) = cpu.pack(&Terms::parse("mem-loads").unwrap(), |_| None) {
                        prop_assert!(error.to_string().contains("mem-loads") || index == 4);
                    }
                }
                Err(error) => prop_assert!(error.to_string().contains(path)),
            }
        }
    }
}
