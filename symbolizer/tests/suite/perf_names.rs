//! What perf calls the kernel's routines.

use perfdata::{CpuMode, Pid, Time};
use std::process::Command;
use symbolizer::{Symbolizer, SymbolizerOptions};

#[test]
fn kernel_routines_of_a_recording() {
    let directory = tempfile::tempdir().unwrap();
    let recording = directory.path().join("perf.data");
    let recorded = Command::new("perf")
        .args(["record", "-q", "-e", "page-faults:k", "-c", "1", "-o"])
        .arg(&recording)
        .args(["--", "sh", "-c", "for i in 1 2 3 4 5; do ls -R /usr/include > /dev/null; done"])
        .output();
    match recorded {
        Err(error) => return eprintln!("skipped: perf: {error}"),
        Ok(output) if !output.status.success() => {
            // In one line, of which the list of who skipped is made.
            let why = String::from_utf8_lossy(&output.stderr);
            let why: Vec<_> = why.split_whitespace().collect();
            return eprintln!("skipped: perf record: {}", why.join(" "));
        }
        Ok(_) => {}
    }
    let output = Command::new("perf")
        .args(["script", "-F", "ip,sym", "-i"])
        .arg(&recording)
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let mut symbolizer = Symbolizer::new(SymbolizerOptions::default());
    let mut compared = 0;
    for line in text.lines() {
        let mut words = line.split_whitespace();
        let Some(Ok(ip)) = words.next().map(|word| u64::from_str_radix(word, 16)) else { continue };
        let Some(theirs) = words.next().filter(|name| *name != "[unknown]") else { continue };
        let place = symbolizer.place(CpuMode::Kernel, Pid(0), ip, Time(0));
        let resolution = symbolizer.resolve(place);
        // Where perf names a section mark we name the routine.
        if !theirs.ends_with("_text_start") && !theirs.ends_with("_text_end") {
            assert_eq!(resolution.text(), theirs, "{ip:#x}");
            compared += 1;
        }
    }
    if text.lines().count() == 0 || symbolizer.kernel_extents().is_err() {
        return eprintln!("skipped: perf recorded no kernel addresses");
    }
    assert!(compared > 0, "{text}");
    eprintln!("{compared} names equal perf's");
}
