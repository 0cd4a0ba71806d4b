//! Why a machine has nothing for a type.

use super::*;
use crate::machine::facts::{FixtureTrees, Hypervisor};

#[test]
fn who_withholds_ibs_is_told_by_what_the_machine_is() {
    let mut facts = FixtureTrees::of(&["zen4"]).facts("zen4");
    facts.pmus.iter_mut().for_each(|pmus| pmus.retain(|pmu| pmu.name != "ibs_op"));
    let entry = find("l1_cache_miss").unwrap();
    for (hypervisor, who) in [
        (Hypervisor::None, "which this CPU lacks, or its firmware"),
        (Hypervisor::Unknown, "which this CPU lacks, or its firmware"),
        (Hypervisor::Guest("KVM".into()), "which the host of this KVM guest keeps to itself"),
        (Hypervisor::Unnamed, "which the host of this virtual machine keeps to itself"),
    ] {
        facts.hypervisor = hypervisor;
        let said = on_machine(entry, &facts).unwrap_err().to_string();
        assert!(said.contains(who), "{:?}: {said}", facts.hypervisor);
    }
}
