//! The instructions of a routine, against the program's own truth, objdump,
//! addr2line and perf.

use std::collections::BTreeMap;

use serde_json::Value;
use tests::{Scene, Truth, Workload, rights};

/// An L1 data cache of 64 sets, whatever the machine has.
const MISSES: &str = "ebs -u -d --source emulated --cache l1d=32k,8 -t l1_cache_miss -i 1 -c all";

/// A program with line numbers, of which walk_nodes has an inlined call.
fn nodes(scene: &Scene) {
    let source = tests::workload::sources().join("nodes.c");
    let line = format!("gcc -O1 -g -static -no-pie -fno-pie -o nodes {}", source.display());
    scene.shell(&line).success();
}

fn json(scene: &Scene, line: &str) -> Value {
    let out = scene.run(&format!("ebs annotate --format json {line}")).success().out;
    serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}"))
}

fn address(value: &Value) -> u64 {
    let text = value.as_str().unwrap_or_else(|| panic!("no address: {value}"));
    u64::from_str_radix(text.trim_start_matches("0x"), 16).unwrap()
}

/// Samples by address, of the first event.
fn counts(annotation: &Value) -> BTreeMap<u64, u64> {
    let hot = annotation["events"][0]["instructions"].as_array().unwrap();
    hot.iter().map(|hot| (address(&hot["address"]), hot["count"].as_u64().unwrap())).collect()
}

/// Address, bytes and text of each instruction, by objdump.
fn objdump(scene: &Scene, annotation: &Value) -> BTreeMap<u64, (String, String)> {
    let (start, end) = (annotation["start"].as_str().unwrap(), annotation["end"].as_str().unwrap());
    let object = annotation["object"].as_str().unwrap();
    let line = format!("objdump -d -w --start-address={start} --stop-address={end} {object}");
    let listed = scene.shell(&line).success().out;
    let mut all = BTreeMap::new();
    for line in listed.lines() {
        let mut parts = line.split('\t');
        let (Some(at), Some(bytes), Some(text)) = (parts.next(), parts.next(), parts.next()) else {
            continue;
        };
        let Ok(at) = u64::from_str_radix(at.trim().trim_end_matches(':'), 16) else { continue };
        let text = text.split(['#', '<']).next().unwrap_or_default();
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        all.insert(at, (bytes.replace(' ', ""), text));
    }
    all
}

fn instructions(annotation: &Value) -> BTreeMap<u64, (String, String)> {
    let code = annotation["code"].as_array().unwrap();
    code.iter()
        .map(|line| {
            let text = line["text"].as_str().unwrap_or_else(|| panic!("no text: {line}"));
            let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
            (address(&line["address"]), (line["bytes"].as_str().unwrap().to_owned(), text))
        })
        .collect()
}

#[test]
fn a_walk_over_nodes_misses_on_the_member_that_it_reads_first() {
    if !rights::emulated_pmu("a_walk_over_nodes_misses_on_the_member_that_it_reads_first") {
        return;
    }
    let scene = Scene::new();
    nodes(&scene);
    let done = scene.run(&format!("{MISSES} -o n.data ./nodes 3")).success();
    let visits = Truth::new(&done.out).number("visits");
    let shown = scene.run("ebs annotate walk_nodes n.data").success().out;
    let after = |text: &str| {
        let found = shown.lines().skip_while(|line| !line.contains(text)).map(str::trim);
        found.map(str::to_owned).collect::<Vec<_>>()
    };
    let hot = after("0x8(%rdi),");
    assert!(hot[0].starts_with(&format!("{visits}  ")), "{shown}");
    assert_eq!(hot[1], "> misses on [rdi+0x8]", "{shown}");
    assert!(
        hot[2].starts_with("> rdi: 512 values, ")
            && hot[2]
                .ends_with(", same 13 low bits (0x0000): 8 KiB-aligned structures, stride 8192"),
        "{shown}"
    );
    assert!(hot[3].starts_with("> addr: 512 values, ") && hot[3].contains("offset 0x8"), "{shown}");
    assert!(hot.iter().any(|line| line == "> in nodes 100.00%"), "{shown}");
    // Where the stack happens to lie in the nodes' set, each return misses, too.
    let (_, exact) = shown.split_once("(EXACT_IP on ").unwrap();
    let (exact, all) = exact.split_once(')').unwrap().0.split_once(" of ").unwrap();
    assert!(exact == all && all.parse::<u64>().unwrap() >= visits, "{shown}");
    assert!(!shown.contains("skid"), "{shown}");
    let intel = scene.run("ebs annotate --syntax intel walk_nodes n.data").success().out;
    assert!(intel.contains(",[rdi+0x8]"), "{intel}");

    let annotation = json(&scene, "walk_nodes n.data");
    let details = &annotation["events"][0]["instructions"][0];
    assert_eq!(details["access"]["operands"][0]["text"], "[rdi+0x8]", "{details}");
    assert_eq!(details["cause"], "here", "{details}");
    let stretches = details["addresses"].as_array().unwrap();
    let told: u64 = stretches.iter().map(|it| it["count"].as_u64().unwrap()).sum();
    assert_eq!(told, visits, "{details}");
}

#[test]
fn instructions_are_those_of_objdump() {
    if !rights::emulated_pmu("instructions_are_those_of_objdump") {
        return;
    }
    let scene = Scene::new();
    nodes(&scene);
    scene.run(&format!("{MISSES} -o n.data ./nodes 1")).success();
    scene.run(&format!("{MISSES} -o w.data -- ebs-walk")).success();
    for (file, routine) in [
        ("n.data", "walk_nodes"),
        ("n.data", "main"),
        ("w.data", "ebs_walk::by_columns"),
        ("w.data", "ebs_walk::fill"),
    ] {
        let annotation = json(&scene, &format!("{routine} {file}"));
        assert_eq!(instructions(&annotation), objdump(&scene, &annotation), "{routine}");
    }
}

#[test]
fn counts_are_those_of_perf_annotate() {
    let test = "counts_are_those_of_perf_annotate";
    if !rights::sampling(test) || !rights::perf(test) {
        return;
    }
    let scene = Scene::new();
    Workload::Sites.build(&scene);
    Workload::List.build(&scene);
    scene.run("ebs -u -t page_fault -c all -o ours.data ./list 700").success();
    scene.run("perf record -q -e page-faults:u -c 1 -d -o perfs.data ./list 300").success();
    let rows = |file: &str| -> Vec<String> {
        let line = format!("ebs report --csv --by routine,object {file}");
        let csv = scene.run(&line).success().out;
        let rows = csv.lines().skip(1).filter(|row| row.ends_with("/list"));
        rows.filter_map(|row| row.split(',').nth_back(1)).map(str::to_owned).collect()
    };
    for file in ["ours.data", "perfs.data"] {
        let routines = rows(file);
        assert!(routines.iter().any(|name| name == "list_insert"), "{routines:?}");
        let mut compared = 0;
        for routine in routines.iter().filter(|name| !name.starts_with('[')) {
            let ours = counts(&json(&scene, &format!("{routine}@list {file}")));
            let line = format!("perf annotate --stdio -n -i {file} {routine} 2>&1");
            let theirs = perf_counts(&scene.shell(&line).success().out);
            assert_eq!(ours, theirs, "{routine} of {file}");
            compared += 1;
        }
        assert!(compared >= 3, "{routines:?}");
    }
}

/// Of lines `COUNT : ADDRESS: INSTRUCTION`, those with a count.
fn perf_counts(text: &str) -> BTreeMap<u64, u64> {
    let count = |line: &str| {
        let mut parts = line.split(':').map(str::trim);
        let count: u64 = parts.next()?.parse().ok()?;
        let address = u64::from_str_radix(parts.next()?, 16).ok()?;
        (count > 0).then_some((address, count))
    };
    text.lines().filter_map(count).collect()
}

#[test]
fn a_trap_is_about_the_instruction_before() {
    let test = "a_trap_is_about_the_instruction_before";
    if !rights::sampling(test) {
        return;
    }
    let scene = Scene::new();
    nodes(&scene);
    let table = scene.shell("nm nodes | grep ' nodes$'").success().out;
    let node = u64::from_str_radix(table.split_whitespace().next().unwrap(), 16).unwrap();
    let watched = node + 8192 * 5 + 8;
    scene.run(&format!("ebs -u -t mem:{watched:#x}/8:rw -o b.data ./nodes 9")).success();
    let shown = scene.run("ebs annotate walk_nodes b.data").success().out;
    assert!(shown.contains("at the instruction after the one that caused them"), "{shown}");
    let hot = shown.lines().skip_while(|line| !line.trim().starts_with("9  100.00%"));
    let hot: Vec<&str> = hot.map(str::trim).collect();
    assert_eq!(hot[1], "> accesses [rdi+0x8]", "{shown}");
    assert_eq!(hot[2], format!("> rdi: always {:#x}", watched - 8), "{shown}");
}

#[test]
fn what_the_kernel_counted_is_shown_with_its_bits() {
    let test = "what_the_kernel_counted_is_shown_with_its_bits";
    if !rights::programs_in_kernel(test) {
        return;
    }
    let scene = Scene::new();
    Workload::List.build(&scene);
    scene.run("ebs -u -t page_fault -i 1 --in-kernel -o k.data -- ./list 900").success();
    let shown = scene.run("ebs annotate list_insert k.data").success().out;
    assert!(shown.contains("900 of 9") && shown.contains(" hits ("), "{shown}");
    assert!(shown.contains("> faults on [rcx]"), "{shown}");
    let rcx = shown.lines().find(|line| line.contains("> rcx: ")).unwrap_or_default();
    assert!(rcx.contains("same 13 low bits (0x0a40)"), "{shown}");
}

#[test]
fn kernel_code_is_shown_to_root() {
    let test = "kernel_code_is_shown_to_root";
    if !rights::sampling(test) {
        return;
    }
    let scene = Scene::new();
    scene.run("ebs -k -t page_fault -c all -o k.data ls -lR /usr/include").success();
    let csv = scene.run("ebs report --csv --by routine,object k.data").success().out;
    let Some(row) = csv.lines().skip(1).find(|row| row.ends_with("[kernel]")) else {
        eprintln!("skipped: {test}: no name of a kernel routine: {csv}");
        return;
    };
    let routine = row.split(',').nth_back(1).unwrap();
    let shown = scene.run(&format!("ebs annotate {routine}@[kernel] k.data")).success().out;
    if shown.contains("no instructions: cannot read /proc/kcore") {
        eprintln!("skipped: {test}: {shown}");
        return;
    }
    assert!(shown.contains(" faults on ["), "{shown}");
    assert!(shown.contains("it faulted, and did not retire"), "{shown}");
}

#[test]
fn what_cannot_be_shown_has_its_reason() {
    let test = "what_cannot_be_shown_has_its_reason";
    if !rights::sampling(test) {
        return;
    }
    let scene = Scene::new();
    Workload::Touch.build(&scene);
    scene.run("ebs -u -t page_fault -c all --no-files -o t.data ./touch 300").success();
    for (routine, said) in [
        ("no_such", &["no sample lies in no_such", "ebs report --by routine,object"][..]),
        ("touch_", &["touch_ may be ", "routines; name one of them", "touch_0"]),
        ("0x10", &["no sample lies in 0x10"]),
        ("0xzz", &["0xzz", "no address"]),
        ("main+0x10", &["whole routines are shown", "\"main\""]),
    ] {
        let refused = scene.run(&format!("ebs annotate {routine} t.data")).refused(1, said);
        assert!(refused.out.is_empty(), "{refused}");
    }
    scene.run("ebs annotate touch_0 none.data").refused(1, &["cannot open none.data"]);
    scene.write("bad.data", "no recording at all, but some bytes of text");
    scene.run("ebs annotate touch_0 bad.data").refused(1, &["bad.data"]);

    // The same program, damaged, then gone: counts without instructions.
    let program = std::fs::read(scene.path("touch")).unwrap();
    let whole = counts(&json(&scene, "touch_0 t.data"));
    assert!(!whole.is_empty());
    scene.write("cut", &program[..200]);
    scene.shell("cat cut > touch").success();
    let refused = scene.run("ebs annotate touch_0 t.data");
    let refused = refused.refused(1, &["no sample lies in touch_0", "have no routine name"]);
    assert!(refused.err.contains("touch"), "{refused}");
    let at = whole.keys().next().unwrap();
    let shown = scene.run(&format!("ebs annotate {at:#x} t.data")).success();
    assert!(shown.out.contains("no symbol holds"), "{shown}");
    assert!(shown.out.contains("no instructions: "), "{shown}");
}

#[test]
fn a_routine_of_two_megabytes_stays_readable() {
    let test = "a_routine_of_two_megabytes_stays_readable";
    if !rights::sampling(test) {
        return;
    }
    let scene = Scene::new();
    scene.write(
        "large.s",
        ".globl large\n.type large, @function\nlarge:\n.rept 400000\nadd $1, %eax\n.endr\n\
         movb $1, (%rdi)\n.rept 300000\nadd $1, %eax\n.endr\nret\n.size large, .-large\n\
         .section .note.GNU-stack,\"\",@progbits\n",
    );
    scene.write(
        "main.c",
        "#include <sys/mman.h>\nvoid large(char *);\nint main(void) {\n\
         large(mmap(0, 4096, 3, 0x22, -1, 0));\n}\n",
    );
    scene.shell("gcc -O1 -static -no-pie -o prog main.c large.s").success();
    scene.run("ebs -u -t page_fault -c all -o l.data ./prog").success();
    let shown = scene.run("ebs annotate large l.data").success().out;
    assert!(shown.contains("2100004 bytes: "), "{shown}");
    assert!(shown.contains("movb   $0x1,(%rdi)"), "{shown}");
    // Its code is mapped by and by: these faults are not about operands.
    assert!(shown.contains("> faults on its own code"), "{shown}");
    assert!(shown.contains(" instructions, "), "{shown}");
    assert!(shown.lines().count() < 300, "{}", shown.lines().count());
}

/// Files and lines of each instruction, innermost routine first; line 0 for
/// none.
fn lines(annotation: &Value) -> BTreeMap<u64, Vec<String>> {
    let code = annotation["code"].as_array().unwrap();
    let source = |frame: &Value| {
        let line = frame["line"].as_u64().unwrap_or(0);
        format!("{}:{line}", frame["file"].as_str().unwrap_or("?"))
    };
    let frames = |line: &Value| line["frames"].as_array().unwrap().iter().map(source).collect();
    code.iter().map(|line| (address(&line["address"]), frames(line))).collect()
}

/// The same by addr2line.
fn addr2line(scene: &Scene, annotation: &Value) -> BTreeMap<u64, Vec<String>> {
    let code = annotation["code"].as_array().unwrap();
    let addresses: Vec<&str> = code.iter().map(|line| line["address"].as_str().unwrap()).collect();
    let object = annotation["object"].as_str().unwrap();
    let line = format!("addr2line -a -i -e {object} {}", addresses.join(" "));
    let mut all: BTreeMap<u64, Vec<String>> = BTreeMap::new();
    let mut at = 0;
    for line in scene.shell(&line).success().out.lines() {
        if let Some(digits) = line.strip_prefix("0x") {
            at = u64::from_str_radix(digits, 16).unwrap();
            all.entry(at).or_default();
        } else {
            let line = line.split(" (disc").next().unwrap_or_default();
            all.entry(at).or_default().push(line.replace(":?", ":0"));
        }
    }
    all
}

#[test]
fn source_lines_are_those_of_addr2line() {
    let test = "source_lines_are_those_of_addr2line";
    if !rights::emulated_pmu(test) || !rights::program(test, "addr2line") {
        return;
    }
    let scene = Scene::new();
    nodes(&scene);
    scene.run(&format!("{MISSES} -o n.data ./nodes 1")).success();
    scene.run(&format!("{MISSES} -o w.data -- ebs-walk")).success();
    for (file, routine) in [
        ("n.data", "walk_nodes"),
        ("n.data", "main"),
        ("w.data", "ebs_walk::by_columns"),
        ("w.data", "ebs_walk::fill"),
    ] {
        let annotation = json(&scene, &format!("{routine} {file}"));
        assert_eq!(lines(&annotation), addr2line(&scene, &annotation), "{routine}");
    }
    // The load is of the inlined routine; its text stands above it.
    let shown = scene.run("ebs annotate walk_nodes n.data").success();
    let before: Vec<&str> =
        shown.out.lines().take_while(|line| !line.contains("0x8(%rdi),")).map(str::trim).collect();
    let [.., chain, line] = before.as_slice() else { panic!("{shown}") };
    assert!(chain.starts_with("; inlined: value_of into walk_nodes (at nodes.c:"), "{shown}");
    assert!(line.ends_with("return node->value ^ node->value >> 3;"), "{shown}");
    let inlined = scene.run("ebs report --csv --by routine --inline n.data").success().out;
    assert!(inlined.contains("walk_nodes <- value_of"), "{inlined}");
    let by_line = scene.run("ebs report --csv --by srcline n.data").success().out;
    let place = line.trim_start_matches("; ").split(' ').next().unwrap_or_default();
    assert!(place.starts_with("nodes.c:") && by_line.contains(&format!("/{place}")), "{by_line}");
}

#[test]
fn source_text_is_found_where_it_is_said_to_be() {
    let test = "source_text_is_found_where_it_is_said_to_be";
    if !rights::sampling(test) {
        return;
    }
    let scene = Scene::new();
    let kept = tests::workload::sources();
    let kept = kept.display();
    scene.shell(&format!("mkdir build && cp {kept}/nodes.c build/nodes.c")).success();
    scene.shell("gcc -O1 -g -static -no-pie -fno-pie -o nodes build/nodes.c").success();
    scene.shell("rm -r build").success();
    scene.run("ebs -u -t page_fault -c all -o f.data ./nodes").success();
    let text = "nodes[index].value = index;";
    let bare = scene.run("ebs annotate main f.data").success();
    assert!(bare.out.contains("build/nodes.c:") && !bare.out.contains(text), "{bare}");
    let said = bare.err.matches("no source text of").count();
    assert!(said == 1 && bare.err.contains("build/nodes.c; --source DIR"), "{bare}");
    let here = scene.path("build");
    for option in [format!("--source {kept}"), format!("--prefix-map {}={kept}", here.display())] {
        let shown = scene.run(&format!("ebs annotate main f.data {option}")).success();
        assert!(shown.out.contains(text), "{option}: {shown}");
        assert!(!shown.err.contains("no source text"), "{option}: {shown}");
    }
}

#[test]
fn script_prints_source_lines_as_perf_does() {
    let test = "script_prints_source_lines_as_perf_does";
    if !rights::perf(test) || !rights::emulated_pmu(test) {
        return;
    }
    let scene = Scene::new();
    nodes(&scene);
    scene.run(&format!("{MISSES} -o n.data ./nodes 1")).success();
    // Where there is no debug info perf makes up lines 0 of symbol tables.
    let told = |line: &str| {
        let text = scene.shell(&format!("{line} -F ip,sym,srcline")).success().out;
        let lines: Vec<&str> = text.lines().collect();
        let pairs = lines.windows(2).filter(|pair| pair[1].starts_with("  nodes.c:"));
        pairs.map(|pair| pair.join("\n")).collect::<Vec<_>>()
    };
    let ours = told("ebs script n.data");
    assert!(ours.len() >= 512 && ours.iter().any(|pair| pair.contains(" walk_nodes")), "{ours:?}");
    assert_eq!(ours, told("perf script -i n.data"));
}
