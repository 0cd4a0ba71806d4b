use cargo_metadata::{DependencyKind, MetadataCommand};

use crate::tree::{assert_clean, root};

/// Every part and the parts it may use (docs/architecture.md draws it). A
/// part that is not here may use nothing and be used by nothing.
const ARROWS: &[(&str, &[&str])] = &[
    ("hardmeter-record", &[]),
    ("hardmeter-symbolizer", &["hardmeter-record"]),
    ("hardmeter-emulator", &["hardmeter-record"]),
    ("hardmeter-latency", &[]),
    ("hardmeter-sampling", &["hardmeter-record", "hardmeter-emulator"]),
    ("hardmeter-daemon", &["hardmeter-record", "hardmeter-sampling"]),
    ("hardmeter-analysis", &["hardmeter-record", "hardmeter-symbolizer", "hardmeter-types"]),
    ("hardmeter-types", &["hardmeter-symbolizer"]),
    ("hardmeter-export", &["hardmeter-record", "hardmeter-symbolizer", "hardmeter-analysis"]),
    ("hardmeter-page", &["hardmeter-record", "hardmeter-types", "hardmeter-analysis"]),
    ("hardmeter-top", &["hardmeter-record", "hardmeter-analysis"]),
    (
        "hardmeter",
        &[
            "hardmeter-record",
            "hardmeter-symbolizer",
            "hardmeter-emulator",
            "hardmeter-sampling",
            "hardmeter-analysis",
        ],
    ),
    ("hardmeter-c", &["hardmeter"]),
    ("hardmeter-heap-preload", &["hardmeter-record"]),
    (
        "hardmeter-ebs-cli",
        &[
            "hardmeter",
            "hardmeter-record",
            "hardmeter-symbolizer",
            "hardmeter-emulator",
            "hardmeter-sampling",
            "hardmeter-analysis",
            "hardmeter-latency",
            "hardmeter-types",
            "hardmeter-export",
            "hardmeter-page",
            "hardmeter-top",
        ],
    ),
    (
        "hardmeter-tests",
        &[
            "hardmeter-record",
            "hardmeter-symbolizer",
            "hardmeter-emulator",
            "hardmeter-sampling",
            "hardmeter-daemon",
            "hardmeter-analysis",
            "hardmeter-ebs-cli",
        ],
    ),
    ("hardmeter-packaging", &["hardmeter-daemon", "hardmeter-ebs-cli"]),
    ("hardmeter-box", &["hardmeter-tests"]),
];

/// One dependency between packages of this tree, and whether only tests and
/// benchmarks use it.
struct Arrow {
    from: String,
    to: String,
    for_tests: bool,
}

/// Arrows the design does not draw. A part's tests may use what the part
/// may; they gain no arrow of their own, or a cycle could hide in them.
fn wrong(arrows: &[Arrow]) -> Vec<String> {
    let allowed = |from: &str| ARROWS.iter().find(|(part, _)| *part == from).map(|(_, to)| *to);
    let mut found = Vec::new();
    for Arrow { from, to, for_tests } in arrows {
        let kind = if *for_tests { "dev-dependency" } else { "dependency" };
        match allowed(from) {
            None => found.push(format!("{from}: the design does not know this part")),
            Some(to_parts) if !to_parts.contains(&to.as_str()) => {
                found.push(format!("{from} -> {to}: no such arrow in the design ({kind})"));
            }
            Some(_) => {}
        }
    }
    found
}

#[test]
fn dependencies_follow_the_arrows() {
    let mut command = MetadataCommand::new();
    let metadata = match command.manifest_path(root().join("Cargo.toml")).no_deps().exec() {
        Err(cargo_metadata::Error::Io(error)) => return eprintln!("skipped: no cargo: {error}"),
        metadata => metadata.unwrap(),
    };
    let ours: Vec<_> = metadata.packages.iter().map(|package| package.name.to_string()).collect();
    let mut arrows = Vec::new();
    for package in &metadata.packages {
        for dependency in &package.dependencies {
            if ours.contains(&dependency.name) {
                arrows.push(Arrow {
                    from: package.name.to_string(),
                    to: dependency.name.clone(),
                    for_tests: dependency.kind == DependencyKind::Development,
                });
            }
        }
    }
    assert!(arrows.len() > 5, "cargo told of {} arrows only", arrows.len());
    assert_clean(&wrong(&arrows));
    for part in &ours {
        assert!(ARROWS.iter().any(|(name, _)| name == part), "{part} has no place in the design");
    }
}

#[test]
fn a_planted_wrong_arrow_is_caught() {
    let arrow = |from: &str, to: &str, for_tests| Arrow {
        from: format!("hardmeter-{from}"),
        to: format!("hardmeter-{to}"),
        for_tests,
    };
    assert_eq!(wrong(&[arrow("record", "daemon", false)]).len(), 1);
    assert_eq!(wrong(&[arrow("symbolizer", "analysis", true)]).len(), 1);
    assert_eq!(wrong(&[arrow("daemon", "symbolizer", false)]).len(), 1);
    assert_eq!(wrong(&[arrow("analysis", "ebs-cli", true)]).len(), 1);
    assert_eq!(wrong(&[arrow("surprise", "record", false)]).len(), 1);
    assert!(
        wrong(&[arrow("analysis", "record", false), arrow("tests", "record", true)]).is_empty()
    );
}
