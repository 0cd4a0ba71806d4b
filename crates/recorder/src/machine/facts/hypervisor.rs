//! Whether this is a virtual machine, and whose.

use std::fmt;

use super::Cpus;
use super::tree::{FactsError, Tree};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Hypervisor {
    /// Nothing says either way.
    #[default]
    Unknown,
    /// CPUs are described and do not show the hypervisor bit.
    None,
    /// A guest of that make: "KVM", "Xen", or what the firmware says.
    Guest(String),
    /// A guest of an unknown make.
    Unnamed,
}

impl fmt::Display for Hypervisor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Hypervisor::Unknown => f.write_str("unknown machine"),
            Hypervisor::None => f.write_str("no virtual machine"),
            Hypervisor::Guest(name) => write!(f, "{name} guest"),
            Hypervisor::Unnamed => f.write_str("virtual machine"),
        }
    }
}

/// Firmware vendors that stand for a hypervisor.
const FIRMWARE: [(&str, &str); 9] = [
    ("QEMU", "KVM or QEMU"),
    ("Amazon EC2", "Amazon EC2"),
    ("Google", "Google Compute Engine"),
    ("VMware", "VMware"),
    ("innotek", "VirtualBox"),
    ("Xen", "Xen"),
    ("Microsoft Corporation", "Hyper-V"),
    ("Parallels", "Parallels"),
    ("OpenStack", "OpenStack"),
];

impl Hypervisor {
    pub(super) fn read(tree: &Tree<'_>, cpus: &Cpus) -> Result<Hypervisor, FactsError> {
        if let Some(kind) = tree.word("sys/hypervisor/type")? {
            return Ok(Hypervisor::Guest(if kind == "xen" { "Xen".to_owned() } else { kind }));
        }
        let guest = cpus.has("hypervisor");
        // A guest's clocks name their maker even where the firmware is mute.
        let clocks = tree
            .word("sys/devices/system/clocksource/clocksource0/available_clocksource")?
            .unwrap_or_default();
        for (clock, name) in [("kvm-clock", "KVM"), ("xen", "Xen"), ("hyperv", "Hyper-V")] {
            if clocks.split_ascii_whitespace().any(|have| have.starts_with(clock)) {
                return Ok(Hypervisor::Guest(name.to_owned()));
            }
        }
        let vendor = tree.word("sys/class/dmi/id/sys_vendor")?.unwrap_or_default();
        let known = FIRMWARE.iter().find(|(start, _)| vendor.starts_with(start));
        Ok(match known {
            Some((_, name)) if guest => Hypervisor::Guest((*name).to_owned()),
            _ => Hypervisor::of(cpus),
        })
    }

    /// What the CPU alone shows.
    pub(super) fn of(cpus: &Cpus) -> Hypervisor {
        match (cpus.has("hypervisor"), cpus.has("lm")) {
            (true, _) => Hypervisor::Unnamed,
            (false, true) => Hypervisor::None,
            (false, false) => Hypervisor::Unknown,
        }
    }
}
