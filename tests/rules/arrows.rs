use cargo_metadata::{DependencyKind, MetadataCommand};

use crate::tree::{assert_clean, root};

/// Every part and the parts it may use (docs/architecture.md draws it). A
/// part that is not here may use nothing and be used by nothing.
const ARROWS: &[(&str, &[&str])] = &[
    ("perfdata", &[]),
    ("symbolizer", &["perfdata"]),
    ("emulator", &["perfdata"]),
    ("latency", &[]),
    ("recorder", &["perfdata", "emulator"]),
    ("daemon", &["perfdata", "recorder"]),
    ("render", &["perfdata"]),
    ("analysis", &["perfdata", "symbolizer", "types", "render"]),
    ("types", &["symbolizer"]),
    ("export", &["perfdata", "symbolizer", "analysis", "render"]),
    ("page", &["types", "analysis", "render"]),
    ("top", &["perfdata", "analysis"]),
    ("hardmeter", &["perfdata", "symbolizer", "emulator", "recorder", "analysis"]),
    ("hardmeter-c", &["hardmeter"]),
    ("heap-preload", &["perfdata"]),
    (
        "ebs-cli",
        &[
            "hardmeter",
            "perfdata",
            "symbolizer",
            "emulator",
            "recorder",
            "analysis",
            "latency",
            "types",
            "export",
            "page",
            "render",
            "top",
        ],
    ),
    ("tests", &["perfdata", "symbolizer", "emulator", "recorder", "daemon", "analysis", "ebs-cli"]),
    ("command-pages", &["daemon", "ebs-cli"]),
    ("xtask", &[]),
    ("pmu-box", &["tests"]),
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
        from: from.to_owned(),
        to: to.to_owned(),
        for_tests,
    };
    assert_eq!(wrong(&[arrow("perfdata", "daemon", false)]).len(), 1);
    assert_eq!(wrong(&[arrow("symbolizer", "analysis", true)]).len(), 1);
    assert_eq!(wrong(&[arrow("daemon", "symbolizer", false)]).len(), 1);
    assert_eq!(wrong(&[arrow("analysis", "ebs-cli", true)]).len(), 1);
    assert_eq!(wrong(&[arrow("surprise", "perfdata", false)]).len(), 1);
    assert!(
        wrong(&[arrow("analysis", "perfdata", false), arrow("tests", "perfdata", true)]).is_empty()
    );
}
