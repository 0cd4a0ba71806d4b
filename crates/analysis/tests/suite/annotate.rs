//! Routines by instruction, as a user sees them.

use crate::recording::{
    Hit, KERNEL, REGISTER_COUNT, Recording, USER, page_faults, task, usual_fields,
};
use crate::symbolizer;
use analysis::annotate::render;
use analysis::annotate::{Annotation, ListingOptions, Syntax};
use analysis::{Pipeline, Query, View, table};
use perfdata::attr::EventType;
use perfdata::stream::{StreamDecoder, StreamStep};
use perfdata::{Attr, Misc, SampleType};
use symbolizer::{KernelSource, Symbolizer, SymbolizerOptions};

const TEXT: u64 = 0x40_1000;
const EXACT: Misc = Misc(USER.0 | Misc::EXACT_IP.0);
const AX: usize = 0;
const CX: usize = 2;

/// mov (%rax),%rax; add 0x28(%rcx,%rdx,8),%rbx; an invalid byte; call; ret
const CODE: &[u8] =
    &[0x48, 0x8b, 0x00, 0x48, 0x03, 0x5c, 0xd1, 0x28, 0x06, 0xe8, 0xf2, 0xff, 0xff, 0xff, 0xc3];

const WHOLE: ListingOptions = ListingOptions {
    syntax: Syntax::Att,
    context: None,
    least_share: 0.0,
    detailed: 5,
    is_so_far: false,
};

/// A program of the code without symbols, for a machine (`e_machine`).
fn program(machine: u64) -> Vec<u8> {
    let mut file = b"\x7fELF\x02\x01\x01".to_vec();
    file.resize(16, 0);
    let length = CODE.len() as u64;
    let (header, segment) = (1 << 32 | machine << 16 | 2, 5 << 32 | 1);
    let words = [header, TEXT, 64, 0, 56 << 48 | 64 << 32, 1, segment, 0x1000];
    let words = words.into_iter().chain([TEXT, TEXT, length, length, 0x1000]);
    file.extend(words.flat_map(u64::to_le_bytes));
    file.resize(0x1000, 0);
    file.extend_from_slice(CODE);
    file
}

fn annotate(
    symbolizer: Symbolizer,
    target: &str,
    view: ListingOptions,
    stream: &[u8],
) -> Result<Annotation, analysis::Error> {
    let targets = vec![target.parse().unwrap()];
    let query = Query { keys: vec![], views: vec![View::Routines(targets)], ..Query::default() };
    let mut pipeline = Pipeline::new(query, symbolizer)?;
    let (mut decoder, mut rest) = (StreamDecoder::new(), stream);
    while let StreamStep::Record { consumed, record } = decoder.step(rest).unwrap() {
        pipeline.record(&decoder, &record)?;
        rest = &rest[consumed..];
    }
    decoder.finish(rest.len()).unwrap();
    pipeline.annotate(&decoder, view)
}

fn text(annotation: &Annotation) -> String {
    render(annotation, &mut |_, _| None, table::Style::default())
}

fn of_program(machine: u64, recording: &Recording, target: &str) -> Annotation {
    let root = tempfile::tempdir().unwrap();
    std::fs::write(root.path().join("program"), program(machine)).unwrap();
    let options = SymbolizerOptions {
        root: root.path().to_owned(),
        kernel: KernelSource::None,
        ..SymbolizerOptions::default()
    };
    annotate(Symbolizer::new(options), target, WHOLE, &recording.bytes).unwrap()
}

/// A list of 4 KiB structures, walked: rax is the next one afterwards.
fn walk(attr: Attr, misc: Misc, note: &str) -> Recording {
    let mut recording = Recording::new(&[(attr, "l1_cache_miss")]);
    recording.note(0, note);
    recording.map(task(7, 7), 0, TEXT - 0x1000..TEXT + 0x1000, "/program");
    for node in 1..=40_u64 {
        let mut hit = Hit::new(misc, TEXT, task(7, 7), node);
        hit.registers[AX] = 0x7000_0000 + (node + 1) * 4096;
        hit.addr = 0x7000_0000 + node * 4096;
        recording.hit(&hit);
        if node % 4 == 0 {
            hit.ip = TEXT + 3;
            hit.registers[CX] = 0x6000_0040 + node * 64;
            hit.addr = hit.registers[CX] + 0x28;
            recording.hit(&hit);
        }
    }
    recording
}

fn misses(fields: SampleType) -> Attr {
    Attr { kind: EventType::RAW, config: 0x8d1, ..page_faults(fields) }
}

#[test]
fn an_exact_event_names_operands_and_says_what_was_overwritten() {
    let note = "source=pebs;ip=exact;addr=data;regs=after-retirement;weight=none";
    let recording = walk(misses(usual_fields()), EXACT, note);
    let annotation = of_program(62, &recording, "0x401000");
    insta::assert_snapshot!(text(&annotation));
    let access = &annotation.events[0].hot[&TEXT].details.as_ref().unwrap().access;
    assert_eq!(
        serde_json::to_value(access).unwrap(),
        serde_json::json!({
            "instruction": "0x401000",
            "verb": "misses on",
            "operands": [{
                "text": "[rax]",
                "reads": true,
                "writes": false,
                "registers": [{ "name": "rax", "overwritten": true }],
            }],
        })
    );
    let whole = serde_json::to_value(&annotation).unwrap();
    assert_eq!(whole["hardmeter_annotation"], Annotation::VERSION);
    assert_eq!(whole["code"][0]["bytes"], "488b00");
    assert_eq!(whole["events"][0]["instructions"][1]["count"], 10);
}

#[test]
fn an_even_interval_makes_no_stride() {
    let shown = |note: &str| {
        let attr = Attr { sample_period: 64, ..misses(usual_fields()) };
        text(&of_program(62, &walk(attr, EXACT, note), "0x401000"))
    };
    let exact = "source=pebs;ip=exact;addr=data;regs=after-retirement;weight=none";
    let even = shown(exact);
    assert!(even.contains("64-byte-aligned structures, stride undetermined"), "{even}");
    assert!(!even.contains("stride 4096"), "{even}");
    let drawn = shown(&format!("{exact};periods=drawn"));
    assert!(drawn.contains("4 KiB-aligned structures, stride 4096"), "{drawn}");
}

#[test]
fn without_exact_ip_nothing_is_claimed_of_operands() {
    let recording = walk(misses(usual_fields()), USER, "source=counter;ip=skid");
    let annotation = of_program(62, &recording, "0x401000");
    insta::assert_snapshot!(text(&annotation));
}

#[test]
fn a_recording_without_addresses_and_registers_has_counts() {
    let fields = SampleType::IP | SampleType::TID | SampleType::TIME;
    let mut recording = Recording::new(&[(misses(fields), "cycles")]);
    recording.map(task(7, 7), 0, TEXT - 0x1000..TEXT + 0x1000, "/program");
    recording.hit(&Hit::new(USER, TEXT + 3, task(7, 7), 1));
    // In the midst of an instruction.
    recording.hit(&Hit::new(USER, TEXT + 5, task(7, 7), 2));
    let annotation = of_program(62, &recording, "0x401000");
    insta::assert_snapshot!(text(&annotation));
    assert_eq!(annotation.events[0].misplaced[&(TEXT + 5)], 1);
}

#[test]
fn code_of_other_machines_is_shown_in_words() {
    let recording = walk(misses(usual_fields()), USER, "source=counter;ip=skid");
    let shown = text(&of_program(183, &recording, "0x401000"));
    assert!(shown.contains("401000  .word  0x48008b48\n"), "{shown}");
    assert!(shown.contains("only x86 code is decoded"), "{shown}");
    assert!(!shown.contains("accesses"), "{shown}");
}

#[test]
fn a_fault_on_the_code_itself_is_not_one_on_the_operand() {
    let mut recording = Recording::new(&[(page_faults(usual_fields()), "page_fault")]);
    recording.map(task(7, 7), 0, TEXT - 0x1000..TEXT + 0x1000, "/program");
    let mut hit = Hit::new(USER, TEXT, task(7, 7), 1);
    hit.addr = TEXT;
    recording.hit(&hit);
    let shown = text(&of_program(62, &recording, "0x401000"));
    assert!(shown.contains("> faults on its own code"), "{shown}");
    assert!(!shown.contains("[rax]"), "{shown}");
    hit.addr = 0x7000_0000;
    recording.hit(&hit);
    let shown = text(&of_program(62, &recording, "0x401000"));
    assert!(shown.contains("> faults on [rax]"), "{shown}");
    assert!(shown.contains("> 1 of 2 fault on its own code"), "{shown}");
}

/// The kernel's code is not here: addresses and registers alone.
fn kernel() -> Recording {
    let mut stream = Recording::new(&[(page_faults(usual_fields()), "page_fault")]);
    for item in 0..512_u64 {
        let mut hit = Hit::new(KERNEL, 0xffff_ffff_8100_1010, task(1, 1), item);
        hit.registers = vec![0; REGISTER_COUNT];
        hit.registers[CX] = 0xffff_8880_0000_0000 + item * 8192;
        hit.addr = hit.registers[CX] + 0x18;
        stream.hit(&hit);
    }
    stream
}

#[test]
fn without_code_the_addresses_are_shown() {
    let annotation = annotate(symbolizer(), "copy_page", WHOLE, &kernel().bytes).unwrap();
    insta::assert_snapshot!(text(&annotation));
}

#[test]
fn what_fits_no_routine_or_several_is_refused() {
    let refused = |target: &str, stream: &Recording| {
        annotate(symbolizer(), target, WHOLE, &stream.bytes).unwrap_err().to_string()
    };
    let mut stream = kernel();
    assert_eq!(
        refused("copy_pgae", &stream),
        "no sample lies in copy_pgae, of 512 counted; some lie in copy_page"
    );
    assert_eq!(
        refused("0x10", &stream),
        "no sample lies in 0x10, of 512 counted; `ebs report --by routine,object` lists the \
         routines that have some"
    );
    assert!(annotate(symbolizer(), "opy_pa", WHOLE, &stream.bytes).is_ok(), "one has the part");
    assert!(annotate(symbolizer(), "copy_page@[kernel]", WHOLE, &stream.bytes).is_ok());
    assert!(refused("copy_page@libc*", &stream).starts_with("no sample lies in copy_page@libc*"));
    stream.hit(&Hit::new(KERNEL, 0xffff_ffff_8100_1104, task(1, 1), 600));
    insta::assert_snapshot!(refused("*", &stream));
}

#[test]
fn the_commonest_reason_without_a_name_is_given() {
    let root = tempfile::tempdir().unwrap();
    std::fs::write(root.path().join("program"), program(62)).unwrap();
    let mut stream = Recording::new(&[(page_faults(usual_fields()), "page_fault")]);
    stream.map(task(7, 7), 0, TEXT - 0x1000..TEXT + 0x1000, "/program");
    // The first in time, and the only one of its kind.
    stream.hit(&Hit::new(USER, 0x9999_0000, task(7, 7), 1));
    for time in 2..5 {
        stream.hit(&Hit::new(USER, TEXT, task(7, 7), time));
    }
    let options = SymbolizerOptions {
        root: root.path().to_owned(),
        kernel: KernelSource::None,
        ..SymbolizerOptions::default()
    };
    let refused = annotate(Symbolizer::new(options), "main", WHOLE, &stream.bytes);
    let refused = refused.unwrap_err().to_string();
    let said = "; 4 have no routine name, 3 of them: no symbols in /program";
    assert!(refused.ends_with(said), "{refused}");
}

#[test]
fn of_registers_that_were_not_recorded_nothing_is_said() {
    let note = "source=pebs;ip=exact;addr=data;regs=after-retirement;weight=none";
    let with = text(&of_program(62, &walk(misses(usual_fields()), EXACT, note), "0x401000"));
    assert!(with.contains("the instruction overwrites it"), "{with}");
    let fields = usual_fields() - SampleType::REGS_INTR;
    let without = text(&of_program(62, &walk(misses(fields), EXACT, note), "0x401000"));
    assert!(without.contains("> misses on [rax]"), "{without}");
    assert!(!without.contains("overwrites"), "{without}");
}
