//! Who may sample more than the kernel lets them, and the two places where
//! that is enforced: before an event is opened ([`restrict()`], [`attr_subset()`])
//! and before a record is passed on (`sampling`'s scrub).

mod attr_subset;
mod permission;
mod restrict;
mod unpermitted;

use crate::credentials::Credentials;
pub use attr_subset::{AttrExcess, attr_subset};
pub use permission::{Permission, Permissions};
pub use restrict::{FORBIDDEN, Forbidden, OpenedBy, restrict};
pub use unpermitted::{Unpermitted, unpermitted};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    pub gid: u32,
    pub permissions: Vec<Permission>,
}

/// Who may what. The superuser may all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    pub groups: Vec<Group>,
}

impl Policy {
    /// What a user may beyond the kernel's rules.
    pub(crate) fn permissions(&self, user: &Credentials) -> Permissions {
        if user.uid == 0 {
            return Permissions::all();
        }
        let member = |group: &&Group| user.gid == group.gid || user.groups.contains(&group.gid);
        let granted = self.groups.iter().filter(member).flat_map(|group| &group.permissions);
        granted.fold(Permissions::empty(), |all, one| all | one.bit())
    }
}

#[cfg(test)]
mod tests;
