//! Why programs cannot be loaded, from the kernel's own answers where they
//! can be had.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use perfdata::{Attr, SampleType};
use rustix::thread::CapabilitySet;
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter};

use super::hits::{cpus, page_faults};
use crate::in_kernel::load_error::LoadStep;
use crate::in_kernel::loader::verify;
use crate::in_kernel::{HitSource, InKernel, KernelProgram, LoadError, SampleContents};
use crate::sys::bpf::UnverifiedProgram;

fn try_to_load(root: &Path, attr: &Attr) -> Result<(), LoadError> {
    let source = HitSource::Overflow(SampleContents::of(attr));
    KernelProgram::load_at(root, &InKernel::aggregate(), source, &cpus()).map(drop)
}

/// In a thread of its own, as capabilities and filters are a thread's.
fn in_thread(restrict: impl FnOnce() + Send + 'static) -> LoadError {
    let thread = std::thread::spawn(move || {
        let attr = page_faults();
        let possible = try_to_load(Path::new("/"), &attr);
        assert_eq!(possible, Ok(()), "this test needs the rights that it takes away");
        restrict();
        try_to_load(Path::new("/"), &attr).unwrap_err()
    });
    thread.join().unwrap()
}

fn without(gone: CapabilitySet) -> LoadError {
    in_thread(move || {
        let mut sets = rustix::thread::capabilities(None).unwrap();
        sets.effective -= gone;
        rustix::thread::set_capabilities(None, sets).unwrap();
    })
}

#[test]
fn rights_that_are_missing_are_named() {
    if super::hits::refused() {
        return;
    }
    let admin = CapabilitySet::SYS_ADMIN;
    let both = admin | CapabilitySet::BPF | CapabilitySet::PERFMON;
    assert_eq!(without(both), LoadError::Rights { missing: "CAP_BPF and CAP_PERFMON" });
    assert_eq!(without(admin | CapabilitySet::BPF), LoadError::Rights { missing: "CAP_BPF" });
    let text = without(admin | CapabilitySet::PERFMON).to_string();
    assert!(text.contains("CAP_PERFMON") && text.contains("ebsd"), "{text}");
}

/// As filters of containers do it.
fn filtered(errno: i32) -> LoadError {
    in_thread(move || {
        let rules = BTreeMap::from([(libc::SYS_bpf, Vec::new())]);
        let action = SeccompAction::Errno(errno.cast_unsigned());
        let arch = std::env::consts::ARCH.try_into().unwrap();
        let filter = SeccompFilter::new(rules, SeccompAction::Allow, action, arch).unwrap();
        let filter: BpfProgram = filter.try_into().unwrap();
        seccompiler::apply_filter(&filter).unwrap();
    })
}

#[test]
fn filters_of_system_calls_are_suspected() {
    if super::hits::refused() {
        return;
    }
    assert_eq!(filtered(libc::EPERM), LoadError::Forbidden);
    let text = filtered(libc::ENOSYS).to_string();
    assert!(text.contains("seccomp") && text.contains("CONFIG_BPF_SYSCALL"), "{text}");
}

#[test]
fn types_of_the_kernel_are_needed_for_weights_only() {
    if super::hits::refused() {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let plain = page_faults();
    assert_eq!(try_to_load(root.path(), &plain), Ok(()));
    for more in [SampleType::WEIGHT, SampleType::DATA_SRC, SampleType::WEIGHT_STRUCT] {
        let attr = Attr { sample_type: plain.sample_type | more, ..plain.clone() };
        let refused = try_to_load(root.path(), &attr).unwrap_err();
        assert_eq!(refused, LoadError::NoBtf);
        assert!(refused.to_string().contains("CONFIG_DEBUG_INFO_BTF"));
    }
    let file = root.path().join("sys/kernel/btf/vmlinux");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    let weighed = Attr { sample_type: plain.sample_type | SampleType::WEIGHT, ..plain };
    // Nothing, noise, and the types of a kernel without the structures.
    for bytes in [&b""[..], &[0x5a; 4000], &EMPTY_BTF] {
        std::fs::write(&file, bytes).unwrap();
        let refused = try_to_load(root.path(), &weighed).unwrap_err();
        let text = refused.to_string();
        let by_verifier = matches!(&refused, LoadError::Refused { .. });
        assert!(by_verifier || matches!(refused, LoadError::Btf { .. }), "{text}");
        assert!(text.len() < 2000, "{text}");
    }
}

/// `struct btf_header` with no types and one empty name.
const EMPTY_BTF: [u8; 25] = {
    let mut bytes = [0; 25];
    (bytes[0], bytes[1], bytes[2], bytes[4]) = (0x9f, 0xeb, 1, 24);
    bytes[20] = 1;
    bytes
};

#[test]
fn the_verifier_is_quoted() {
    if super::hits::refused() {
        return;
    }
    // An exit without a result.
    let instructions = aya_obj::copy_instructions(&[0x95, 0, 0, 0, 0, 0, 0, 0]).unwrap();
    let program =
        UnverifiedProgram { kind: 7, name: "bad", instructions: &instructions, licence: c"GPL" };
    let refused = verify(program).unwrap_err();
    let LoadError::Refused { log, .. } = &refused else { panic!("{refused}") };
    assert!(log.contains("R0 !read_ok"), "{log}");
    assert!(!log.contains("processed"), "{log}");
}

#[test]
fn memory_is_named_in_bytes() {
    let error = io::Error::from_raw_os_error(libc::ENOMEM);
    let text = LoadError::of(LoadStep::Map { bytes: 12_345 }, &error).to_string();
    assert!(text.contains("12345 bytes") && text.contains("fewer sites"), "{text}");
}

#[test]
fn helpers_that_are_missing_are_explained() {
    let refused = |log: &str| {
        let error = io::Error::from_raw_os_error(libc::EINVAL);
        LoadError::of(LoadStep::Program { log: log.to_owned() }, &error)
    };
    // Linux 6.18 and 5.12, of a program of the same kind.
    for log in [
        "; READ(data, behind->data); 61: (85) call bpf_probe_read_kernel#113; \
         program of this type cannot use helper bpf_probe_read_kernel#113",
        "unknown func bpf_probe_read_kernel#113",
    ] {
        assert_eq!(refused(log), LoadError::Lockdown);
    }
    let text = refused("unknown func bpf_get_current_ancestor_cgroup_id#123").to_string();
    assert!(text.contains("Linux 5.15"), "{text}");
    let text = refused("R2 unbounded memory access").to_string();
    assert!(text.contains("R2 unbounded memory access") && text.contains("verifier"), "{text}");
}

#[test]
fn a_helper_that_the_kernel_does_not_have_is_named_by_it() {
    if super::hits::refused() {
        return;
    }
    // r0 = helper 9999(); exit
    let bytes = [0x85, 0, 0, 0, 0x0f, 0x27, 0, 0, 0x95, 0, 0, 0, 0, 0, 0, 0];
    let instructions = aya_obj::copy_instructions(&bytes).unwrap();
    let program =
        UnverifiedProgram { kind: 7, name: "bad", instructions: &instructions, licence: c"GPL" };
    let refused = verify(program).unwrap_err();
    let by_number = matches!(&refused, LoadError::Refused { log, .. } if log.contains("9999"));
    assert!(by_number || matches!(refused, LoadError::Helper { .. }), "{refused}");
}
