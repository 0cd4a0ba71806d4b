//! What `--anonymous` takes out, and what stays.

use super::{ebs, fixtures, is_sound, recordings, text};
use ebs_cli::ebs::input::Input;
use perfdata::SideRecord;
use perfdata::side::FileIdentity;
use perfdata::stream::StreamRecord;
use std::collections::BTreeSet;
use std::path::Path;
use tempfile::TempDir;

/// Names that a recording has: of its host, of files, of threads.
#[derive(Default)]
struct Names {
    host: Vec<u8>,
    paths: BTreeSet<Vec<u8>>,
    threads: BTreeSet<Vec<u8>>,
    build_ids: usize,
}

fn names(path: &Path) -> Names {
    let mut input = Input::open(path).unwrap();
    let mut decoder = input.decoder();
    let mut names = Names::default();
    let end = input.read(&mut decoder, |_, record| {
        match record {
            StreamRecord::Side { record: SideRecord::Comm { name, .. }, .. } => {
                names.threads.insert(name.to_vec());
            }
            StreamRecord::Side {
                record: SideRecord::Mmap(mapping) | SideRecord::Mmap2(mapping),
                ..
            } => {
                names.build_ids += usize::from(matches!(mapping.file, FileIdentity::BuildId(_)));
                let kept = [&b"["[..], b"//anon", b"/anon_huge", b"/dev/zero", b"anon_inode:"];
                let module = mapping.path.starts_with(b"/lib/modules/")
                    && memchr::memmem::find(mapping.path, b".ko").is_some();
                if !module && !kept.iter().any(|start| mapping.path.starts_with(start)) {
                    names.paths.insert(mapping.path.to_vec());
                }
            }
            _ => {}
        }
        Ok(())
    });
    let _ = end.unwrap();
    let features = decoder.stream().features();
    names.host = features.hostname.clone().unwrap_or_default().into_bytes();
    names.build_ids += features.build_ids.len();
    names
}

#[test]
fn an_anonymous_recording_names_nobody_and_counts_the_same() {
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("out.data");
    let fields =
        ["script", "--all-samples", "-G", "-F", "pid,tid,cpu,time,ip,addr,period,weight,phys_addr"];
    let (mut files, mut paths, mut threads) = (0, 0, 0);
    for path in recordings().into_iter().filter(|path| is_sound(path)) {
        let name = path.display();
        let before = names(&path);
        for form in [&["convert", "--anonymise"][..], &["convert", "--anonymise", "--pipe"]] {
            let said = ebs(form, &[&path, &out]);
            assert!(said.status.success(), "{name}: {}", text(&said.stderr));
            let after = names(&out);
            assert_eq!(after.threads.len(), before.threads.len(), "{name}: equal stays equal");
            assert_eq!(after.paths.len(), before.paths.len(), "{name}: equal stays equal");
            assert_eq!(after.build_ids, 0, "{name}");
            assert!(after.threads.iter().all(|thread| thread.starts_with(b"comm-")), "{name}");
            assert!(after.paths.iter().all(|path| path.starts_with(b"/object-")), "{name}");
            assert!(before.host.is_empty() || after.host == b"anonymous", "{name}");
            let bytes = std::fs::read(&out).unwrap();
            // Shorter ones may be there by chance; of many some will do.
            let secrets = [&before.host].into_iter().chain(&before.paths);
            for secret in secrets.filter(|name| name.len() > 5).take(40) {
                let found = memchr::memmem::find(&bytes, secret);
                assert_eq!(found, None, "{name}: {}", text(secret));
            }
            let (a, b) = (ebs(&fields, &[&path]).stdout, ebs(&fields, &[&out]).stdout);
            assert!(a == b, "{name}: {}", text(&said.stderr));
        }
        files += 1;
        paths += before.paths.len();
        threads += before.threads.len();
    }
    assert!(files >= 9, "{files} files");
    eprintln!("{paths} paths and {threads} names of threads replaced in {files} files");
}

/// The kernel finds callers by frame pointers: where a program keeps
/// something else in that register, they are what lay on its stack.
#[test]
fn callers_that_are_pieces_of_memory_are_taken_out() {
    const USER: [u8; 8] = perfdata::ChainContext::USER.0.to_le_bytes();
    let folder = TempDir::new().unwrap();
    let (from, out) = (folder.path().join("from.data"), folder.path().join("out.data"));
    let mut bytes = std::fs::read(fixtures().join("everything-6.1.file.data")).unwrap();
    let secrets = [*b"m/.cargo", *b"secret\0\0", *b"\x01passwd\xff"];
    let chains: Vec<usize> = memchr::memmem::find_iter(&bytes, &USER).collect();
    assert!(chains.len() > secrets.len());
    for (at, secret) in chains.iter().zip(secrets) {
        bytes[at + 8..at + 16].copy_from_slice(&secret);
    }
    std::fs::write(&from, &bytes).unwrap();
    let frames = |path: &Path| {
        let out = text(&ebs(&["script", "-F", "ip"], &[path]).stdout);
        out.lines().map(|line| line.trim().to_owned()).collect::<Vec<_>>()
    };
    let before = frames(&from);
    for form in [&["convert", "--anonymise"][..], &["convert", "--anonymise", "--pipe"]] {
        let said = ebs(form, &[&from, &out]);
        assert!(said.status.success(), "{}", text(&said.stderr));
        let bytes = std::fs::read(&out).unwrap();
        for secret in secrets {
            let name = text(&secret);
            assert_eq!(memchr::memmem::find(&bytes, &secret), None, "{name:?} is still there");
        }
        let after = frames(&out);
        assert_eq!(after.len(), before.len());
        let pairs = || after.iter().zip(&before);
        let replaced: Vec<_> = pairs().filter(|(after, before)| after != before).collect();
        // Besides the secrets, callers in what the process was before exec,
        // whose mappings the recorder did not tell.
        assert!(replaced.len() >= secrets.len(), "{replaced:?}");
        assert!(replaced.iter().all(|(after, _)| *after == "0"), "{replaced:?}");
        assert!(pairs().filter(|(after, before)| after == before).count() > 100);
    }
}

#[test]
fn build_ids_and_registers_stay_when_asked_for() {
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("out.data");
    let path = fixtures().join("hybrid_topology-5.15.file.data");
    let ids = names(&path).build_ids;
    let converted = |words: &[&str]| {
        let said = ebs(words, &[&path, &out]);
        assert!(said.status.success(), "{}", text(&said.stderr));
        text(&said.stderr)
    };
    converted(&["convert", "--anonymise", "--keep-build-ids"]);
    assert!(ids > 0 && names(&out).build_ids == ids);
    let path = fixtures().join("page_faults-6.1.pipe.data");
    let registers = |file: &Path| text(&ebs(&["script", "-G", "-F", "time,iregs"], &[file]).stdout);
    let said = ebs(&["convert", "--anonymise"], &[&path, &out]);
    assert!(text(&said.stderr).contains("what was in memory"), "{}", text(&said.stderr));
    assert!(registers(&path).contains("AX:0x") && !registers(&out).contains("AX:0x"));
    ebs(&["convert", "--anonymise", "--keep-registers"], &[&path, &out]);
    assert_eq!(registers(&out), registers(&path));
    let misuse = ebs(&["convert", "--keep-build-ids"], &[&path, &out]);
    assert_eq!(misuse.status.code(), Some(2));
}
