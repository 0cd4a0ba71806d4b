//! A configuration in words, for `ebsd --check-config`.

use std::fmt;

use recorder::HumanDuration;

use super::Config;

impl fmt::Display for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let limits = &self.limits;
        writeln!(
            f,
            "{} connections, {} of one user, who may have {} sessions",
            limits.connections, limits.connections_per_user, limits.sessions_per_user
        )?;
        write!(
            f,
            "{} for rings and queues, {} of one user; {} may wait for a client",
            limits.memory, limits.memory_per_user, limits.queue
        )?;
        if self.policy.groups.is_empty() {
            write!(f, "\nno group may more than the kernel lets its members")?;
        }
        for standing in &self.standing {
            let role = &standing.role;
            write!(f, "\nstanding session {}: {}", role.name, role.event)?;
            if let Some(how) = role.call_graph {
                write!(f, ", callers by {how}")?;
            }
            if let Some(counted) = &role.counted {
                let (every, sites) = (HumanDuration(counted.every), counted.tables.sites);
                write!(
                    f,
                    ", counted in the kernel where that is to be had: an aggregate every {every}, \
                     {sites} sites a CPU"
                )?;
            }
        }
        for group in &self.policy.groups {
            let permissions = group.permissions.iter().map(|one| one.bit().names().join(" "));
            let permissions: Vec<String> = permissions.collect();
            write!(f, "\ngroup {} may: {}", group.gid, permissions.join(", "))?;
        }
        Ok(())
    }
}
