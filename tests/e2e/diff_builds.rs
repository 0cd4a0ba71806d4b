//! `ebs diff` of builds in which code and text lie elsewhere: keys that are the same in all.

use serde_json::Value;
use tests::{Scene, workload};

/// Text and code that are put before all else.
const BEFORE: &str = "/* Text, and code,\n * before the rest. */\n__attribute__((noinline)) double before(double it)\n\
                      {\n    return it * 3.0 + 1.0 / it;\n}\n";
/// The line of add_up() with its one access to memory, its 9th.
const LINE: &str = "sum += matrix[one][other];";

/// A build, each load of which was recorded.
fn build(scene: &Scene, folder: &str, flags: &str, source: &str) {
    scene.shell(&format!("mkdir {folder}")).success();
    std::fs::write(scene.path(&format!("{folder}/matrix.c")), source).unwrap();
    scene.shell(&format!("cd {folder} && gcc -O1 -g {flags} -o matrix matrix.c")).success();
    scene
        .run(&format!(
            "ebs -u --source emulated -t memory_loads -i =1 -c all -o {folder}.data {folder}/matrix 1"
        ))
        .success();
}

/// As it is, moved, moved and with other registers, and with another line.
fn builds(scene: &Scene) {
    let source = std::fs::read_to_string(workload::sources().join("matrix.c")).unwrap();
    let moved = format!("{BEFORE}{source}");
    let changed = moved.replace(LINE, "sum += matrix[one][other] * matrix[other][one];");
    assert_ne!(changed, moved);
    build(scene, "first", "", &source);
    build(scene, "moved", "", &moved);
    build(scene, "other", "-ffixed-rcx", &moved);
    build(scene, "newer", "", &changed);
}

/// Rows of the program's own code; a library's depend on its stack and environment.
fn rows(scene: &Scene, key: &str, files: &str) -> Vec<Value> {
    let told = scene.run(&format!("ebs diff --json --by {key} {files}")).success();
    let diff: Value = serde_json::from_str(&told.out).unwrap();
    assert_eq!(diff["by"], serde_json::json!(["object", key]), "{diff:#}");
    let rows = diff["events"][0]["rows"].as_array().unwrap();
    rows.iter().filter(|row| row["keys"][0] == "matrix").cloned().collect()
}

#[test]
fn builds_whose_code_moved_have_the_same_rows_and_counts() {
    let scene = Scene::new();
    builds(&scene);
    for (key, row, count) in [
        ("routine-line", "add_up+8", 65_536.0),
        // sum += 0(%rax), whatever the register.
        ("operands", "add_up: addsd xmm, m64[r]", 65_536.0),
    ] {
        for files in ["first.data moved.data", "first.data other.data"] {
            let rows = rows(&scene, key, files);
            let own = rows.iter().find(|it| it["keys"][1] == row);
            let own = own.unwrap_or_else(|| panic!("no {row}: {rows:#?}"));
            assert_eq!(own["a"]["events"], count, "{own:#}");
            for row in &rows {
                assert_eq!(row["a"]["events"], row["b"]["events"], "{files}: {row:#}");
                assert!(!["new", "gone"].contains(&row["verdict"].as_str().unwrap()), "{row:#}");
            }
        }
    }
}

#[test]
fn a_line_that_changed_is_told_and_no_other() {
    let scene = Scene::new();
    builds(&scene);
    let rows = rows(&scene, "routine-line", "moved.data newer.data");
    let changed: Vec<&Value> =
        rows.iter().filter(|row| row["a"]["events"] != row["b"]["events"]).collect();
    let [row] = &changed[..] else { panic!("{changed:#?}") };
    assert_eq!(row["keys"][1], "add_up+8", "{row:#}");
    // Of one run each: what runs vary by is not known.
    assert_eq!((&row["verdict"], &row["ratio"]), (&"unrepeated".into(), &2.0.into()), "{row:#}");
    let limit = |text: &str| {
        let line = format!("ebs diff --by routine-line --fail-on '{text}' moved.data newer.data");
        scene.shell(&line).sane().code()
    };
    assert_eq!(limit("memory_loads@add_up > +50%"), 3);
    assert_eq!(limit("memory_loads@fill > +50%"), 0);
    assert_eq!(limit("memory_loads@add > +50%"), 1, "no routine is called so");
}

#[test]
fn what_has_no_lines_is_a_row_of_its_routine() {
    let scene = Scene::new();
    let source = std::fs::read_to_string(workload::sources().join("matrix.c")).unwrap();
    build(&scene, "first", "-g0", &source);
    build(&scene, "moved", "-g0", &format!("{BEFORE}{source}"));
    let has = |key: &str, name: &str| {
        let rows = rows(&scene, key, "first.data moved.data");
        let found = rows.iter().find(|row| row["keys"][1] == name);
        let row = found.unwrap_or_else(|| panic!("no {name}: {rows:#?}"));
        assert_eq!(row["a"]["events"], row["b"]["events"], "{row:#}");
    };
    has("routine-line", "add_up [no-debug-info]");
    has("operands", "add_up: addsd xmm, m64[r]");
    let table = scene.run("ebs diff --by routine-line first.data moved.data").success();
    assert!(table.out.contains("in rows of a routine alone, as no line in its"), "{table}");
    let report = scene.run("ebs report --by routine-line,operands first.data").success();
    assert!(report.out.contains("add_up [no-debug-info]"), "{report}");
    assert!(report.out.contains("without a line in their routine"), "{report}");
    let other = scene.run("ebs diff --by line first.data moved.data");
    other.refused(2, &["--by line", "routine-line", "srcline"]);
}
