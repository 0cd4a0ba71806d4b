//! CPUs and their cores.

use crate::machine::facts::{Cpus, PmuDescription};

use super::*;

fn cpu(vendor: &str, family: u32, model: u32, stepping: Option<u32>) -> Cpus {
    Cpus {
        vendor: Some(vendor.to_owned()),
        family: Some(family),
        model: Some(model),
        stepping,
        ..Cpus::default()
    }
}

fn pmu(name: &str, pmu_name: Option<&str>) -> Pmu {
    let caps = pmu_name.map(|word| ("pmu_name".to_owned(), word.to_owned()));
    let description = PmuDescription { caps: caps.into_iter().collect(), ..Default::default() };
    Pmu { name: name.to_owned(), description: Some(description), ..Pmu::default() }
}

#[test]
fn cores_are_known_by_family_model_and_stepping() {
    let intel = |model, stepping, name: &str| {
        identify(&cpu("GenuineIntel", 6, model, Some(stepping)), &pmu(name, None))
    };
    let known = |core| IdentifiedCore::Known(Microarchitecture(core));
    assert_eq!(intel(0x55, 4, "cpu"), known("skylakex"));
    assert_eq!(intel(0x55, 5, "cpu"), known("cascadelakex"));
    assert_eq!(intel(0x55, 0xb, "cpu"), known("cascadelakex"));
    assert_eq!(intel(0x9e, 13, "cpu"), known("skylake"));
    assert_eq!(intel(0x97, 2, "cpu_core"), known("alderlake_goldencove"));
    assert_eq!(intel(0x97, 2, "cpu_atom"), known("alderlake_gracemont"));
    assert_eq!(intel(0x97, 2, "cpu"), IdentifiedCore::Unknown, "either of two");
    assert_eq!(intel(0xbe, 0, "cpu"), known("alderlake_gracemont"));
    assert_eq!(intel(0xc5, 0, "cpu_lowpower"), known("arrowlake_crestmont"));
    assert_eq!(intel(0xaf, 0, "cpu"), known("sierraforest"));
    assert_eq!(intel(0xaf, 0, "uncore_imc_0"), IdentifiedCore::Unknown);
    assert_eq!(intel(0x0f, 0, "cpu"), IdentifiedCore::Unknown, "Core 2");
    let newer = identify(&cpu("GenuineIntel", 18, 1, None), &pmu("cpu_core", None));
    assert_eq!(newer, known("novalake_coyotecove"));

    let amd = |family, model| {
        identify(&cpu("AuthenticAMD", family, model, Some(1)), &pmu("ibs_op", None))
    };
    for (family, model, core) in [
        (0x17, 0x01, "zen1"),
        (0x17, 0x18, "zen1"),
        (0x17, 0x31, "zen2"),
        (0x17, 0x71, "zen2"),
        (0x17, 0xa0, "zen2"),
        (0x19, 0x01, "zen3"),
        (0x19, 0x50, "zen3"),
        (0x19, 0x11, "zen4"),
        (0x19, 0x61, "zen4"),
        (0x19, 0xa0, "zen4"),
        (0x1a, 0x02, "zen5"),
        (0x1a, 0x44, "zen5"),
    ] {
        assert_eq!(amd(family, model), known(core), "{family:#x} {model:#x}");
    }
    assert_eq!(amd(0x15, 2), IdentifiedCore::Unknown, "before Zen");
    let hygon = cpu("HygonGenuine", 0x18, 0, Some(2));
    assert_eq!(identify(&hygon, &pmu("cpu", None)), known("zen1"));
}

#[test]
fn what_the_kernel_calls_a_pmu_stands_in_for_the_identity() {
    let by = |core| IdentifiedCore::ByPmuName(Microarchitecture(core));
    let of = |name: &str, word: &str| identify(&Cpus::default(), &pmu(name, Some(word)));
    assert_eq!(of("cpu", "skylake"), by("skylake"));
    assert_eq!(of("cpu", "sapphire_rapids"), by("sapphirerapids"));
    assert_eq!(of("cpu_atom", "lunarlake_hybrid"), by("lunarlake_skymont"));
    assert_eq!(of("cpu_core", "alderlake_hybrid"), by("alderlake_goldencove"));
    assert_eq!(of("cpu", "something_new"), IdentifiedCore::Unknown);
    assert_eq!(identify(&Cpus::default(), &pmu("cpu", None)), IdentifiedCore::Unknown);
    let newer = cpu("GenuineIntel", 6, 0xfe, None);
    assert_eq!(identify(&newer, &pmu("cpu", Some("granite_rapids"))), by("graniterapids"));
}

#[test]
fn every_core_has_names_types_and_a_pmu() {
    let all = Microarchitecture::all();
    assert_eq!(all.len(), 52);
    let instructions = find("instr_retired").unwrap();
    for core in all {
        let pmu = core.pmu().unwrap();
        assert!(names(core, pmu).count() > 50, "{core}");
        assert!(encodings(core, pmu, instructions).is_ok(), "{core}");
        assert_eq!(core.is_amd(), core.0.starts_with("zen"));
    }
}
