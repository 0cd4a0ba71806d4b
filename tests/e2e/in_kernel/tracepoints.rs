//! Hits of tracepoints that the kernel counts, and kernels without types.

use tests::{Account, Outcome, Running, Scene, Workload, rights};

use super::{hits, whole};

/// Exit status of a script that could not mount what it wanted.
const UNMOUNTED: i32 = 99;

/// Runs `script` where it may mount things, with tracefs; None, with the
/// reason: it could not.
fn with_tracefs(test: &str, scene: &Scene, script: &str) -> Option<Outcome> {
    if !rights::root(test) || !rights::programs_in_kernel(test) {
        return None;
    }
    let mounted = "[ -e /sys/kernel/tracing/events ] || mount -t tracefs nodev /sys/kernel/tracing";
    let script = format!("{{ {mounted}; }} || exit {UNMOUNTED}\n{script}");
    let private = ["--mount", "--propagation", "private", "sh", "-c", &script];
    let outcome = Running::start(scene.command("unshare").args(private)).finish();
    if outcome.code() == UNMOUNTED {
        eprintln!("skipped {test}: {}", outcome.err);
        return None;
    }
    Some(outcome.sane())
}

const CALLS: &str = "ebs -u -t syscalls:sys_enter_getpid -i 1 --no-daemon";

#[test]
fn hits_of_a_tracepoint_are_counted_as_the_ring_has_them() {
    let test = "hits_of_a_tracepoint_are_counted_as_the_ring_has_them";
    let scene = Scene::new();
    Workload::Calls.build(&scene);
    scene.write("calls.sh", "./calls 700 & ./calls 1300 & ./calls 3000; wait");
    let script = format!(
        "{CALLS} --in-kernel --no-rings --by-process -o counted.data sh calls.sh >&2 && \
         exec {CALLS} -c all -o ring.data sh calls.sh"
    );
    let Some(told) = with_tracefs(test, &scene, &script) else { return };
    let told = told.success();
    assert!(told.err.contains("counted in the kernel"), "{told}");
    let (counted, ring) = (whole(&scene, "counted.data"), whole(&scene, "ring.data"));
    assert_eq!(counted.count("kernel"), ring.count("kernel"), "{counted:?} {ring:?}");
    // The shell's library lies elsewhere in each run; `calls` does not.
    let of_calls = |by: &str, recording: &str| {
        let mut hits = hits(&scene, by, recording);
        hits.retain(|_, &mut count| count >= 700);
        hits
    };
    let by_kernel = of_calls("ip", "counted.data");
    assert_eq!(by_kernel, of_calls("ip", "ring.data"));
    assert_eq!(by_kernel.into_values().collect::<Vec<_>>(), [5000]);
    let mut of_processes: Vec<u64> = of_calls("pid,ip", "counted.data").into_values().collect();
    of_processes.sort_unstable();
    assert_eq!(of_processes, [700, 1300, 3000]);
}

#[test]
fn without_the_kernels_types_a_tracepoint_goes_through_rings() {
    let test = "without_the_kernels_types_a_tracepoint_goes_through_rings";
    let scene = Scene::new();
    Workload::Calls.build(&scene);
    let hidden = format!("mount -t tmpfs nodev /sys/kernel/btf || exit {UNMOUNTED}");
    let script = format!("{hidden}\n{CALLS} --in-kernel -o f.data ./calls 400");
    let Some(told) = with_tracefs(test, &scene, &script) else { return };
    super::through_rings(&scene, told, "/sys/kernel/btf/vmlinux is missing");
    let account = Account::of_stream(&scene.path("f.data"));
    assert_eq!(account.count("delivered"), 400, "{account:?}");

    let strict = format!("{hidden}\nexec {CALLS} --in-kernel --no-rings ./calls 4");
    let refused = with_tracefs(test, &scene, &strict).unwrap();
    refused.refused(1, &["cannot be counted in the kernel", "CONFIG_DEBUG_INFO_BTF"]);

    let faults = "exec ebs -u -t page_fault -i 1 --no-daemon --in-kernel --no-rings ./calls 4";
    let counted = with_tracefs(test, &scene, &format!("{hidden}\n{faults}")).unwrap().success();
    assert!(counted.last_line().contains("counted in the kernel"), "{counted}");
}

#[test]
fn what_a_tracepoint_lacks_is_refused_by_name() {
    let test = "what_a_tracepoint_lacks_is_refused_by_name";
    let scene = Scene::new();
    for (options, said) in [("--strides", "--strides"), ("--keep addr=1000-", "--keep addr")] {
        let script = format!("exec {CALLS} --in-kernel {options} true");
        let Some(told) = with_tracefs(test, &scene, &script) else { return };
        told.refused(2, &[said, "sys_enter_getpid has no data addresses", "page_fault"]);
    }
}
