//! Named events against other tables of them.

use super::facts::{hex, rows, unpack};
use super::*;

fn core(model: &str, pmu: &str) -> &'static str {
    let name = match (model, pmu) {
        ("nehalemep", _) => "nehalem",
        ("westmereep-sp", _) => "westmere_sp",
        ("westmereep-dp", _) => "westmere",
        ("alderlake", "cpu_core") => "alderlake_goldencove",
        ("alderlake", "cpu_atom") | ("alderlaken", _) => "alderlake_gracemont",
        ("meteorlake", "cpu_core") => "meteorlake_redwoodcove",
        ("meteorlake", "cpu_atom") => "meteorlake_crestmont",
        ("lunarlake", "cpu_core") => "lunarlake_lioncove",
        ("lunarlake", "cpu_atom") => "lunarlake_skymont",
        _ => model.strip_prefix("amd").unwrap_or(model),
    };
    let core = Microarchitecture::all().into_iter().find(|core| core.0 == name);
    core.unwrap_or_else(|| panic!("{model} is no core of ours")).0
}

#[test]
fn every_name_of_the_kernel_means_the_same_here() {
    let text = unpack(include_bytes!("../../../fixtures/events/kernel_names.tsv.gz"));
    let mut same = 0;
    let mut different = Vec::new();
    for [model, pmu, name, config, config1] in rows(&text) {
        let core = Microarchitecture(core(model, pmu));
        let event = named(core, core.pmu().unwrap(), &name.to_ascii_uppercase())
            .unwrap_or_else(|| panic!("{core} has no {name}"));
        if (event.config, event.config1) == (hex(config), hex(config1)) {
            same += 1;
        } else {
            different.push((core.0, name));
        }
    }
    different.sort_unstable();
    let threshold = "mem_inst_retired.latency_above_threshold_0";
    assert_eq!(
        different,
        [
            // Intel's newer list says 0xa, as its manual does; the kernel's
            // older copy says 0x9.
            ("graniterapids", "frontend_retired.late_swpf"),
            // Newer lists have the fixed counter's code 0x500, as its two
            // siblings have in both; the older one says 0x73.
            ("lunarlake_skymont", "topdown_bad_speculation.all"),
            // The kernel's generator writes "ldlat=None", which no kernel
            // takes: its own codes are missing there.
            ("nehalem", threshold),
            ("nehalemex", threshold),
            ("westmere", threshold),
            ("westmere_sp", threshold),
            ("westmereex", threshold),
        ]
    );
    assert_eq!(same, 16_757 - 7);
}

/// libpfm4's names of cores that are ours too.
const LIBPFM4: [(&str, &str); 34] = [
    ("nhm", "nehalem"),
    ("nhm_ex", "nehalemex"),
    ("wsm", "westmere_sp"),
    ("wsm_dp", "westmere"),
    ("snb", "sandybridge"),
    ("snb_ep", "jaketown"),
    ("ivb", "ivybridge"),
    ("ivb_ep", "ivytown"),
    ("hsw", "haswell"),
    ("hsw_ep", "haswellx"),
    ("bdw", "broadwell"),
    ("bdw_ep", "broadwellx"),
    ("skl", "skylake"),
    ("skx", "skylakex"),
    ("clx", "cascadelakex"),
    ("icl", "icelake"),
    ("icx", "icelakex"),
    ("spr", "sapphirerapids"),
    ("emr", "emeraldrapids"),
    ("gnr", "graniterapids"),
    ("adl_glc", "alderlake_goldencove"),
    ("adl_grt", "alderlake_gracemont"),
    ("glm", "goldmont"),
    ("tmt", "snowridgex"),
    ("knl", "knightslanding"),
    ("knm", "knightslanding"),
    ("slm", "silvermont"),
    ("atom", "bonnell"),
    ("amd64_fam17h", "zen1"),
    ("amd64_fam17h_zen1", "zen1"),
    ("amd64_fam17h_zen2", "zen2"),
    ("amd64_fam19h_zen3", "zen3"),
    ("amd64_fam19h_zen4", "zen4"),
    ("amd64_fam1ah_zen5", "zen5"),
];

fn of_libpfm4(prefix: &str) -> Option<Microarchitecture> {
    let found = LIBPFM4.iter().find(|(have, _)| *have == prefix);
    found.map(|(_, core)| Microarchitecture(core))
}

#[test]
fn known_differences_are_as_intel_has_them() {
    let text = include_str!("../../../fixtures/events/libpfm4_differences.csv");
    let (mut codes, mut flags) = (0, 0);
    let mut portable = Vec::new();
    for line in text.lines().skip(1) {
        let mut words = line.split(',');
        let mut next = || words.next().unwrap();
        let (prefix, event, _, intel) = (next(), next(), next(), next());
        let core = of_libpfm4(prefix).unwrap();
        let name = event.trim_end_matches(" [PEBS flag]");
        let have = named(core, core.pmu().unwrap(), name).unwrap_or_else(|| panic!("{line}"));
        if let Some(flag) = intel.strip_prefix("perfmon=") {
            assert_eq!(have.precise, flag == "1", "{line}");
            flags += 1;
        } else if have.config == hex(intel) {
            codes += 1;
        } else {
            portable.push((prefix, event, have.config, hex(intel)));
        }
    }
    assert_eq!((codes, flags), (91, 100));
    // Intel's codes stand for fixed counters or say nothing (0): no kernel
    // counts by them. What the kernel's own tables have is here.
    assert_eq!(
        portable,
        [
            ("nhm", "INST_RETIRED.ANY_P", 0xc0, 0x1c0),
            ("wsm", "INST_RETIRED.ANY", 0xc0, 0),
            ("wsm_dp", "INST_RETIRED.ANY", 0xc0, 0),
            ("adl_glc", "INST_RETIRED.ANY", 0xc0, 0x100),
            ("adl_glc", "CPU_CLK_UNHALTED.THREAD", 0x3c, 0x200),
            ("glm", "CPU_CLK_UNHALTED.REF", 0x300, 0x13c),
            ("tmt", "CPU_CLK_UNHALTED.CORE", 0x3c, 0x200),
            ("knl", "INST_RETIRED.ANY", 0xc0, 0x100),
            ("slm", "INST_RETIRED.ANY", 0xc0, 0x100),
        ]
    );
}

/// An event string of libpfm4 as a name, and what its attributes change.
struct Attributes {
    name: String,
    set: u64,
    clear: u64,
    exclude_user: bool,
    exclude_kernel: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unmatched {
    Refused,
    /// An uncore unit, or a core that is not in the tables.
    OtherUnit,
    /// Several masks at once, or a mask as a number: names here have one.
    SeveralMasks,
    /// A parameter of libpfm4's own (a threshold).
    Parameter,
    /// libpfm4's own name, or one that the maker has dropped.
    OtherName,
}

impl Unmatched {
    fn word(self) -> &'static str {
        match self {
            Unmatched::Refused => "refused",
            Unmatched::OtherUnit => "other unit",
            Unmatched::SeveralMasks => "several masks",
            Unmatched::Parameter => "parameter",
            Unmatched::OtherName => "other name",
        }
    }
}

fn translate(event: &str) -> Result<Attributes, Unmatched> {
    let mut words = event.split(':');
    let mut found = Attributes {
        name: words.next().unwrap().to_owned(),
        set: 0,
        clear: 0,
        exclude_user: false,
        exclude_kernel: false,
    };
    let (mut user, mut kernel) = (false, false);
    let mut masks = Vec::new();
    for word in words {
        let (key, value) = word.split_once('=').unwrap_or((word, "1"));
        let bit = |bit: u32| if value == "0" { 0 } else { 1_u64 << bit };
        match (key.to_ascii_lowercase().as_str(), value.parse::<u64>()) {
            ("u", Ok(on)) => user = on != 0,
            ("k", Ok(on)) => kernel = on != 0,
            ("i", Ok(_)) => found.set |= bit(23),
            ("e", Ok(_)) => found.set |= bit(18),
            ("t", Ok(_)) => found.set |= bit(21),
            ("intx", Ok(_)) => found.set |= bit(32),
            ("intxcp", Ok(_)) => found.set |= bit(33),
            ("c", Ok(mask)) => (found.set, found.clear) = (found.set | mask << 24, 0xff << 24),
            ("ldlat" | "fe_thres", _) => return Err(Unmatched::Parameter),
            _ if word.starts_with("0x") => return Err(Unmatched::SeveralMasks),
            _ => masks.push(word),
        }
    }
    match masks.as_slice() {
        [] => {}
        [mask] => found.name = format!("{}.{mask}", found.name),
        _ => return Err(Unmatched::SeveralMasks),
    }
    if user || kernel {
        (found.exclude_user, found.exclude_kernel) = (!user, !kernel);
    }
    Ok(found)
}

#[test]
fn strings_of_libpfm4_mean_the_same_here() {
    let text = unpack(include_bytes!("../../../fixtures/events/libpfm4_x86.tsv.gz"));
    let mut unmatched = Vec::new();
    let (mut elsewhere, mut refused) = (0, 0);
    let mut different = Vec::new();
    let mut same = 0;
    for [input, outcome, _, config, config1, exclude_user, exclude_kernel] in rows(&text) {
        let (prefix, event) = input.split_once("::").unwrap();
        let translated = match of_libpfm4(prefix) {
            None => Err(Unmatched::OtherUnit),
            Some(_) if outcome != "SUCCESS" => Err(Unmatched::Refused),
            Some(core) => translate(event).and_then(|wanted| {
                let have = named(core, core.pmu().unwrap(), &wanted.name);
                have.map(|have| (wanted, have)).ok_or(Unmatched::OtherName)
            }),
        };
        let (wanted, have) = match translated {
            Ok(found) => found,
            Err(reason) => {
                match reason {
                    Unmatched::OtherUnit => elsewhere += 1,
                    Unmatched::Refused => refused += 1,
                    _ => unmatched.push(format!("{}\t{input}", reason.word())),
                }
                continue;
            }
        };
        let changed = (have.config & !wanted.clear | wanted.set, have.config1);
        if changed != (hex(config), hex(config1)) {
            different.push((input, changed, (hex(config), hex(config1))));
            continue;
        }
        assert_eq!(wanted.exclude_user, exclude_user == "1", "{input}");
        assert_eq!(wanted.exclude_kernel, exclude_kernel == "1", "{input}");
        same += 1;
    }
    assert_eq!(
        different.iter().map(|(input, ..)| *input).collect::<Vec<_>>(),
        [
            // Among the known differences: see the test of those.
            "wsm::INST_RETIRED:ANY_P:e:c=1",
            "ivb::MOVE_ELIMINATION:INT_NOT_ELIMINATED",
            "ivb_ep::mem_load_uops_llc_miss_retired:local_dram",
            // Fixed counters: the kernel's portable code here, a code that
            // stands for the counter there.
            "tmt::cpu_clk_unhalted:ref",
            "icl::inst_retired:any",
            "icx::inst_retired:any",
            "spr::inst_retired:any",
            "emr::inst_retired:any",
            // A known difference again.
            "adl_glc::TOPDOWN:BR_MISPREDICT_SLOTS",
            "gnr::inst_retired:any",
        ],
        "{different:x?}"
    );
    let text = include_str!("../../../fixtures/events/libpfm4_unmatched.tsv");
    let listed: Vec<_> = text.lines().filter(|line| !line.starts_with('#')).collect();
    assert_eq!(unmatched, listed, "what is not compared, and why");
    assert_eq!((same, listed.len(), elsewhere, refused), (196, 365, 868, 108));
}
