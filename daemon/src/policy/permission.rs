//! What policy may grant, by name and as a set.

use bitflags::bitflags;
use serde::Deserialize;

bitflags! {
    /// What policy grants; nothing: the kernel alone decides.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct Permissions: u32 {
        /// Kernel code, and addresses of the kernel.
        const KERNEL = 1 << 0;
        const SYSTEM_WIDE = 1 << 1;
        const OTHERS_TASKS = 1 << 2;
        /// User code of one's own processes, where kernel.perf_event_paranoid
        /// forbids even that (Debian's level 3).
        const OWN_TASKS = 1 << 3;
    }
}

/// A permission's name in the configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Permission {
    Kernel,
    SystemWide,
    OthersTasks,
    OwnTasks,
}

impl Permission {
    pub fn bit(self) -> Permissions {
        match self {
            Permission::Kernel => Permissions::KERNEL,
            Permission::SystemWide => Permissions::SYSTEM_WIDE,
            Permission::OthersTasks => Permissions::OTHERS_TASKS,
            Permission::OwnTasks => Permissions::OWN_TASKS,
        }
    }
}

impl Permissions {
    /// As the configuration has them.
    pub fn names(self) -> Vec<String> {
        self.iter_names().map(|(name, _)| name.to_lowercase()).collect()
    }
}
