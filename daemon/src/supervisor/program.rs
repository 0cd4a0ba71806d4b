//! Loads the programs that count in the kernel, for workers.

use std::os::fd::OwnedFd;
use std::path::Path;

use perfdata::Cpu;
use recorder::in_kernel::{HitSource, KernelProgram, LoadError, bytes};
use recorder::machine::facts::online_cpus;

use crate::broker::WireProgram;

/// The descriptors of a program and of maps of its own; `draw`
/// takes their bytes from what the worker has set aside. Else the reason.
/// `sees_kernel`: its user may; if not, nor may they by the kernel's own
/// rules, the program keeps nothing of it, whatever the worker asks for.
pub(super) fn load(
    program: &WireProgram,
    sees_kernel: bool,
    draw: &mut dyn FnMut(u64) -> bool,
) -> Result<Vec<OwnedFd>, String> {
    let Some((mut in_kernel, contents)) = program.program() else {
        return Err("the daemon knows no such program".into());
    };
    in_kernel.keep.user_only |= !sees_kernel && hides_kernel(Path::new("/"));
    let cpus: Vec<Cpu> = online_cpus(Path::new("/"))
        .ok_or("/sys/devices/system/cpu/online cannot be read".to_owned())?;
    let size = bytes(&in_kernel, u32::try_from(cpus.len()).unwrap_or(u32::MAX));
    if !draw(size) {
        return Err(format!("its tables take {size} bytes, which are not set aside"));
    }
    let loaded = KernelProgram::load(&in_kernel, HitSource::Overflow(contents), &cpus);
    loaded.map(KernelProgram::into_descriptors).map_err(|why| {
        // The log has it whole.
        tracing::warn!(%why, "a program for the kernel cannot be loaded");
        match why {
            LoadError::Rights { missing } => {
                format!("the daemon lacks {missing}: it is to be started by its unit, or as root")
            }
            why => why.to_string(),
        }
    })
}

/// Whether kernel code is hidden from users without rights
/// (kernel.perf_event_paranoid, 2 and above).
fn hides_kernel(root: &Path) -> bool {
    let level = std::fs::read_to_string(root.join("proc/sys/kernel/perf_event_paranoid"));
    level.ok().and_then(|level| level.trim().parse::<i32>().ok()).is_none_or(|level| level >= 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_is_hidden_unless_it_says_otherwise() {
        let root = tempfile::tempdir().unwrap();
        assert!(hides_kernel(root.path()), "nobody knows");
        let directory = root.path().join("proc/sys/kernel");
        std::fs::create_dir_all(&directory).unwrap();
        for (level, hidden) in [("-1", false), ("1", false), ("2", true), ("4", true), ("x", true)]
        {
            std::fs::write(directory.join("perf_event_paranoid"), level).unwrap();
            assert_eq!(hides_kernel(root.path()), hidden, "{level}");
        }
    }
}
