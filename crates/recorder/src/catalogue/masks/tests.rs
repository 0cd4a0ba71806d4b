//! Masks against the makers' own names for the same bits.

use super::*;
use crate::catalogue::{encodings, find, named};

fn config(core: &'static str, name: &str, typed: &str) -> Result<u64, MaskError> {
    let core = Microarchitecture(core);
    let pmu = core.pmu().unwrap();
    let entry = find(name).unwrap();
    let typed: Vec<_> = typed.split(',').map(str::to_owned).collect();
    let composed = compose(core, entry, &typed)?;
    let encoding = encodings(core, pmu, entry).unwrap()[0];
    Ok(encoding.config | composed.bits)
}

#[test]
fn requests_are_what_the_maker_calls_them() {
    let same = [
        ("nehalem", "demand_rd,miss", "l2_rqsts.ld_miss"),
        ("nehalem", "rfo,hit", "l2_rqsts.rfo_hit"),
        ("nehalem", "demand_rd,rfo,code_rd,l2_pf,miss", "l2_rqsts.miss"),
        ("nehalem", "demand_rd,rfo,code_rd,l2_pf,hit,miss", "l2_rqsts.references"),
        ("sandybridge", "code_rd,miss", "l2_rqsts.code_rd_miss"),
        ("sandybridge", "l2_pf,hit", "l2_rqsts.pf_hit"),
        ("haswell", "demand_rd,miss", "l2_rqsts.demand_data_rd_miss"),
        ("haswell", "rfo,hit", "l2_rqsts.rfo_hit"),
        ("haswell", "l2_pf,miss", "l2_rqsts.l2_pf_miss"),
        ("skylake", "l1_pf,l2_pf,miss", "l2_rqsts.pf_miss"),
        ("skylakex", "demand_rd,rfo,code_rd,l1_pf,l2_pf,miss", "l2_rqsts.miss"),
        ("skylakex", "demand_rd,rfo,code_rd,l1_pf,l2_pf,miss,hit", "l2_rqsts.references"),
        ("icelake", "sw_pf,hit", "l2_rqsts.swpf_hit"),
        ("sapphirerapids", "l2_pf,miss", "l2_rqsts.hwpf_miss"),
        ("sapphirerapids", "demand_rd,rfo,code_rd,miss", "l2_rqsts.all_demand_miss"),
        ("lunarlake_lioncove", "demand_rd,hit", "l2_rqsts.demand_data_rd_hit"),
        ("lunarlake_lioncove", "demand_rd,rfo,code_rd,sw_pf,l2_pf,hit", "l2_rqsts.hit"),
        ("alderlake_gracemont", "miss", "l2_request.miss"),
        ("lunarlake_skymont", "miss,hit,reject", "l2_request.all"),
        ("clearwaterforest", "any,miss", "l2_request.miss"),
        ("clearwaterforest", "any,hit", "l2_request.hit"),
        ("clearwaterforest", "demand_rd,miss", "l2_request.demand_data_rd_miss"),
        ("clearwaterforest", "l2_pf,hit,miss", "l2_request.hwpf"),
    ];
    for (core, typed, name) in same {
        let core_ = Microarchitecture(core);
        let event = named(core_, core_.pmu().unwrap(), name).unwrap_or_else(|| panic!("{name}"));
        let composed = config(core, "l2_rqsts", typed).unwrap();
        assert_eq!(composed, event.config, "{core}: {typed} is {name}, not {composed:#x}");
    }
    assert_eq!(config("skylake", "l2_rqsts", "demand_rd,rfo,miss"), Ok(0x2324));
    assert_eq!(config("skylake", "l2_rqsts", "Demand-RD,hit_m"), Ok(0x8124));
}

#[test]
fn fill_buffers_are_what_the_maker_calls_them() {
    assert_eq!(config("skylake", "fb_alloc", ""), Ok(0x0448));
    assert_eq!(config("skylake", "fb_alloc", "pending,full"), Ok(0x0348));
    for core in ["sandybridge", "broadwellx", "skylakex", "sapphirerapids"] {
        let core_ = Microarchitecture(core);
        let event = named(core_, "cpu", "l1d_pend_miss.fb_full").unwrap();
        assert_eq!(config(core, "fb_alloc", "full"), Ok(event.config), "{core}");
    }
    let stalls = named(Microarchitecture("icelake"), "cpu", "l1d_pend_miss.l2_stall").unwrap();
    assert_eq!(config("icelake", "fb_alloc", "alloc"), Ok(stalls.config));
}

#[test]
fn one_of_each_kind_is_wanted() {
    let said = |core, typed| config(core, "l2_rqsts", typed).unwrap_err().to_string();
    assert_eq!(
        said("skylake", "miss"),
        "l2_rqsts wants at least one origin: -m demand_rd,miss; origins are demand_rd, rfo, \
         code_rd, l1_pf, l2_pf"
    );
    assert!(said("skylake", "rfo").contains("at least one result"), "{}", said("skylake", "rfo"));
    assert!(said("skylake", "").contains("at least one origin"));
    assert!(said("alderlake_gracemont", "").contains("-m miss; results are miss, hit, reject"));
    let unknown = said("skylake", "demand_read,miss");
    assert!(
        unknown.contains("did you mean demand_rd") && unknown.contains("it has demand_rd, rfo")
    );
    assert!(said("lunarlake_lioncove", "rfo,hit_m").contains("did you mean hit?"));
}

#[test]
fn a_latency_is_one_number_in_range() {
    let ldlat = |core: &'static str, typed: &[&str]| {
        let core = Microarchitecture(core);
        let typed: Vec<_> = typed.iter().map(|word| (*word).to_owned()).collect();
        compose(core, find("load_latency").unwrap(), &typed)
    };
    assert_eq!(ldlat("skylake", &["ldlat=30"]), Ok(ComposedMasks { bits: 0, ldlat: Some(30) }));
    assert_eq!(ldlat("skylake", &[]), Ok(ComposedMasks::default()));
    assert_eq!(ldlat("zen5", &["ldlat=128"]).unwrap().ldlat, Some(128));
    for wrong in ["ldlat", "ldlat=", "ldlat=2", "ldlat=65536", "ldlat=-1", "ldlat=ten"] {
        let error = ldlat("skylake", &[wrong]).unwrap_err().to_string();
        assert!(error.contains(wrong) && error.contains("3 to 65535"), "{error}");
    }
    assert!(ldlat("zen5", &["ldlat=30"]).unwrap_err().to_string().contains("128 to 2048"));
    assert_eq!(
        ldlat("skylake", &["ldlat=3", "LDLAT=4"]),
        Err(MaskError::Twice { name: "load_latency" })
    );
    assert_eq!(ldlat("zen2", &["ldlat=128"]), Err(MaskError::None { name: "load_latency" }));
    assert!(matches!(ldlat("skylake", &["miss"]), Err(MaskError::Unknown { .. })));
}

#[test]
fn types_without_masks_refuse_them() {
    assert_eq!(
        config("skylake", "l1_cache_miss", "miss"),
        Err(MaskError::None { name: "l1_cache_miss" })
    );
    assert_eq!(config("skylake", "l1_cache_miss", ""), Ok(0x08d1));
}
