//! What is installed: unit, socket, package.

use std::{collections::BTreeSet, fs, path::Path, process::Command};

use tests::{Scene, built};

fn packaging() -> std::path::PathBuf {
    Path::new(&std::env::var("CARGO_MANIFEST_DIR").unwrap()).parent().unwrap().join("xtask/debian")
}

fn has(test: &str, program: &str, arguments: &[&str]) -> bool {
    let found = Command::new(program).args(arguments).output();
    let found = found.is_ok_and(|output| output.status.success());
    if !found {
        eprintln!("skipped {test}: there is no {program}");
    }
    found
}

/// D2: by systemd's own measure, at most 2.5; a plain service of root has 9.6.
#[test]
fn the_unit_allows_little() {
    let test = "the_unit_allows_little";
    if !has(test, "systemd-analyze", &["--version"]) {
        return;
    }
    let scene = Scene::new();
    let unit = packaging().join("ebsd.service");
    let outcome =
        scene.shell(&format!("systemd-analyze security --offline=true {}", unit.display()));
    let (_, level) = outcome.out.rsplit_once("exposure level for ebsd.service: ").unwrap();
    let level: f64 = level.split_whitespace().next().unwrap().parse().unwrap();
    assert!(level <= 2.5, "{level}");
    // That all of it means something; of a unit whose program there is.
    let text = fs::read_to_string(&unit).unwrap();
    let program = built::directory().join("ebsd");
    assert!(text.contains("ExecStart=/usr/sbin/ebsd\n"));
    // Else the first worker that takes too much memory ends everybody's.
    assert!(text.contains("OOMPolicy=continue\n"));
    let text = text.replace("/usr/sbin/ebsd", program.to_str().unwrap());
    scene.write("ebsd.service", text);
    fs::copy(packaging().join("ebsd.socket"), scene.path("ebsd.socket")).unwrap();
    let verify = scene.shell("systemd-analyze verify --man=no ./ebsd.service ./ebsd.socket");
    let about_it = verify.err.lines().filter(|line| line.contains("ebsd")).count();
    assert_eq!(about_it, 0, "{verify}");
}

/// Who exports segments has no rights but its user's: at most 2.5, too.
#[test]
fn the_exporters_unit_allows_little() {
    let test = "the_exporters_unit_allows_little";
    if !has(test, "systemd-analyze", &["--version"]) {
        return;
    }
    let scene = Scene::new();
    let text = fs::read_to_string(packaging().join("ebsd-export@.service")).unwrap();
    let program = built::directory().join("ebs");
    assert!(text.contains("ExecStart=/usr/bin/ebs export") && text.contains("User=ebsd\n"));
    let text = text.replace("/usr/bin/ebs ", &format!("{} ", program.display()));
    scene.write("ebsd-export@web.service", text);
    let timer = packaging().join("ebsd-export@.timer");
    fs::copy(timer, scene.path("ebsd-export@web.timer")).unwrap();
    let units = "./ebsd-export@web.service ./ebsd-export@web.timer";
    let verify = scene.shell(&format!("systemd-analyze verify --man=no {units}"));
    // A user that is not there yet is no fault of the unit's.
    let about_it = verify.err.lines().filter(|line| line.contains("ebsd-export"));
    assert_eq!(about_it.count(), 0, "{verify}");
    let told = "systemd-analyze security --offline=true ./ebsd-export@web.service";
    let outcome = scene.shell(told);
    let (_, level) =
        outcome.out.rsplit_once("exposure level for ebsd-export@web.service: ").unwrap();
    let level: f64 = level.split_whitespace().next().unwrap().parse().unwrap();
    assert!(level <= 2.5, "{level}");
}

/// What the supervisor and its children call beyond what every service does:
/// to ask the kernel as a user (`daemon/src/sys/oracle.rs`), to fork a worker
/// that becomes its user, and to open events and programs.
const NEEDED: [&str; 25] = [
    "bpf",
    "capget",
    "capset",
    "clone",
    "close_range",
    "kill",
    "landlock_restrict_self",
    "perf_event_open",
    "pidfd_open",
    "pidfd_send_signal",
    "pipe2",
    "poll",
    "prctl",
    "prlimit64",
    "ptrace",
    "readlink",
    "seccomp",
    "setfsgid",
    "setfsuid",
    "setgroups",
    "setresgid",
    "setresuid",
    "setsockopt",
    "socketpair",
    "wait4",
];

/// The calls that a word of SystemCallFilter= stands for.
fn calls(scene: &Scene, word: &str) -> BTreeSet<String> {
    if !word.starts_with('@') {
        return BTreeSet::from([word.to_owned()]);
    }
    let listed = scene.shell(&format!("systemd-analyze --no-pager syscall-filter {word}"));
    let lines: Vec<String> = listed.success().out.lines().skip(1).map(str::to_owned).collect();
    let words = lines.iter().map(|line| line.trim()).filter(|line| !line.starts_with('#'));
    words.filter(|word| !word.is_empty()).flat_map(|word| calls(scene, word)).collect()
}

/// Else the first user who wants more than the kernel lets them ends it.
#[test]
fn the_unit_allows_what_the_supervisor_calls() {
    let test = "the_unit_allows_what_the_supervisor_calls";
    if !has(test, "systemd-analyze", &["syscall-filter", "@system-service"]) {
        return;
    }
    let scene = Scene::new();
    let text = fs::read_to_string(packaging().join("ebsd.service")).unwrap();
    let mut allowed = calls(&scene, "@default");
    let lines: Vec<&str> =
        text.lines().filter_map(|line| line.strip_prefix("SystemCallFilter=")).collect();
    assert!(!lines.is_empty());
    for line in lines {
        let without = line.strip_prefix('~');
        for word in without.unwrap_or(line).split_whitespace() {
            let calls = calls(&scene, word);
            match without {
                Some(_) => allowed.retain(|call| !calls.contains(call)),
                None => allowed.extend(calls),
            }
        }
    }
    let refused: Vec<&str> = NEEDED.into_iter().filter(|call| !allowed.contains(*call)).collect();
    assert_eq!(refused, Vec::<&str>::new());
    for call in ["mlock", "sched_setaffinity", "add_key", "mount", "userfaultfd"] {
        assert!(!allowed.contains(call), "{call}");
    }
}

#[test]
fn the_example_configuration_is_good() {
    let scene = Scene::new();
    let example = packaging().join("ebsd.toml");
    let text = fs::read_to_string(example).unwrap();
    let check = |text: &str| {
        scene.write("ebsd.toml", text);
        scene.shell("chmod 644 ebsd.toml; ebsd --check-config --config ebsd.toml").success()
    };
    check(&text);
    // What it shows in comments is what may be there.
    let shown = text.lines().filter_map(|line| line.strip_prefix("# "));
    let is_setting = |line: &&str| line.starts_with('[') || line.contains(" = ");
    let shown: Vec<&str> = shown.filter(is_setting).collect();
    assert!(shown.len() > 9, "{shown:?}");
    let shown = shown.join("\n").replace("\"perf\"", "4100");
    let told = check(&shown);
    assert_eq!(told.out.lines().skip(1).take(2).collect::<Vec<_>>(), {
        let empty = check("");
        empty.out.lines().skip(1).take(2).map(str::to_owned).collect::<Vec<_>>()
    });
}

/// Beside pages and documents.
const FILES: [&str; 30] = [
    "./etc/ebsd.toml",
    "./usr/bin/ebs",
    "./usr/bin/ebs-walk",
    "./usr/bin/eip2r",
    "./usr/include/hardmeter.h",
    "./usr/include/hardmeter/ittnotify.h",
    "./usr/include/hardmeter/likwid-marker.h",
    "./usr/include/hardmeter/likwid.h",
    "./usr/lib/hardmeter/libhardmeter.so",
    "./usr/lib/hardmeter/libhardmeter_heap.so",
    "./usr/lib/systemd/system/ebsd-export@.service",
    "./usr/lib/systemd/system/ebsd-export@.timer",
    "./usr/lib/systemd/system/ebsd.service",
    "./usr/lib/systemd/system/ebsd.socket",
    "./usr/lib/sysusers.d/ebsd.conf",
    "./usr/lib/tmpfiles.d/ebsd.conf",
    "./usr/sbin/ebsd",
    "./usr/share/bash-completion/completions/ebs",
    "./usr/share/bash-completion/completions/ebsd",
    "./usr/share/bash-completion/completions/eip2r",
    "./usr/share/doc/hardmeter/changelog.Debian",
    "./usr/share/doc/hardmeter/copyright",
    "./usr/share/doc/hardmeter/examples/60-ebsd.conf",
    "./usr/share/fish/vendor_completions.d/ebs.fish",
    "./usr/share/fish/vendor_completions.d/ebsd.fish",
    "./usr/share/fish/vendor_completions.d/eip2r.fish",
    "./usr/share/man/man8/ebsd.8",
    "./usr/share/zsh/vendor-completions/_ebs",
    "./usr/share/zsh/vendor-completions/_ebsd",
    "./usr/share/zsh/vendor-completions/_eip2r",
];

/// The pages of this tree under docs/, where they are installed.
fn documents() -> Vec<String> {
    let docs = packaging().join("../../docs");
    let pages = ["", "decisions/"].into_iter().flat_map(|folder| {
        let entries = fs::read_dir(docs.join(folder)).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let pages = names.filter(|name| name.ends_with(".md"));
        pages.map(move |name| format!("./usr/share/doc/hardmeter/{folder}{name}"))
    });
    let mut pages: Vec<String> = pages.collect();
    pages.sort();
    pages
}

/// Names of an ELF file's sections that tools for debugging want, with
/// their sizes.
fn debug_sections(scene: &Scene, file: &str) -> String {
    scene.shell(&format!("objdump -h {file} | grep -E ' [.](debug_info|debug_line) ' || true")).out
}

/// What Debian asks of every package: a maintainer's address, whose copyright
/// and under which licences, the changes up to this version, no priority that
/// there is no more; of the symbols, that they come with what they are of.
fn has_what_debian_asks_for(scene: &Scene, package: &str, symbols: &str) {
    let shell = |command: &str| scene.shell(command).success().out;
    let of = |package: &str, name: &str| {
        shell(&format!("dpkg-deb -f {package} {name}")).trim_end().to_owned()
    };
    for package in [package, symbols] {
        assert_eq!(of(package, "Priority"), "optional", "{package}");
        // No address of the project's own: one that RFC 2606 keeps free.
        let maintainer = of(package, "Maintainer");
        assert!(maintainer.ends_with(".invalid>"), "{maintainer}");
    }
    let version = of(package, "Version");
    assert_eq!(of(symbols, "Depends"), format!("hardmeter (= {version})"));
    let documents = "root/usr/share/doc/hardmeter";
    let copyright = shell(&format!("cat {documents}/copyright"));
    assert!(copyright.contains("\nLicense: MIT or Apache-2.0\n"), "{copyright}");
    assert!(copyright.contains("/usr/share/common-licenses/Apache-2.0"), "{copyright}");
    // The text is that of the tree, but for how the format marks lines.
    let mit = fs::read_to_string(packaging().join("../../LICENSE-MIT")).unwrap();
    for line in mit.lines().skip(3).filter(|line| !line.is_empty()) {
        assert!(copyright.lines().any(|other| other.trim_start() == line), "{line}");
    }
    let holder = mit.lines().find_map(|line| line.strip_prefix("Copyright (c) ")).unwrap();
    assert!(copyright.contains(&format!("\nCopyright: {holder}\n")), "{copyright}");
    let changes = shell(&format!("zcat {documents}/changelog.Debian.gz"));
    assert!(changes.starts_with(&format!("hardmeter ({version}) ")), "{changes}");
    assert_eq!(shell("readlink symbols/usr/share/doc/hardmeter-dbgsym"), "hardmeter\n");
    let test = "what lintian calls an error";
    if has(test, "lintian", &["--version"]) {
        let found =
            scene.shell(&format!("lintian --allow-root --fail-on none {package} {symbols}"));
        let errors = found.success().out;
        let errors: Vec<&str> = errors.lines().filter(|line| line.starts_with("E: ")).collect();
        assert_eq!(errors, Vec::<&str>::new());
    }
}

/// In a root directory of its own: nothing of the machine is touched.
#[test]
fn the_package_installs_these_files_and_takes_them_away() {
    let test = "the_package_installs_these_files_and_takes_them_away";
    if !["cargo deb", "dpkg", "dpkg-deb", "objdump", "objcopy"].into_iter().all(|program| {
        let words: Vec<&str> = program.split(' ').chain(["--version"]).collect();
        has(test, words[0], &words[1..])
    }) {
        return;
    }
    let scene = Scene::new();
    let profile = match built::directory().file_name().unwrap().to_str().unwrap() {
        "debug" => "dev",
        other => other,
    };
    let target = built::directory().parent().unwrap();
    let made = Command::new(packaging().join("package"))
        .args(["--profile", profile, "--built", "--fast"])
        .env("CARGO_TARGET_DIR", target)
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let packages = String::from_utf8(made.stdout).unwrap();
    let (package, symbols) = packages.trim().split_once('\n').unwrap();
    let install = "mkdir -p root/var/lib/dpkg/{updates,info} root/etc; touch root/var/lib/dpkg/status
        dpkg=\"dpkg --root=$PWD/root --force-not-root --force-depends --force-script-chrootless --log=log\"";
    let outcome = scene.shell(&format!(
        "{install}; $dpkg -i {package} > out 2>&1 || {{ cat out >&2; exit 1; }}
        cd root; find . -type f -o -type l | grep -v ^./var/lib/dpkg | sed s/.gz$// | sort"
    ));
    let files: Vec<String> = outcome.success().out.lines().map(str::to_owned).collect();
    let (pages, others): (Vec<_>, Vec<_>) =
        files.iter().partition(|file| file.starts_with("./usr/share/man/man1/"));
    let (docs, others): (Vec<_>, Vec<_>) =
        others.into_iter().partition(|file| file.ends_with(".md"));
    assert_eq!(docs, documents().iter().collect::<Vec<_>>(), "all that texts may name");
    // The user, where systemd-sysusers is at hand.
    let others: Vec<_> = others
        .into_iter()
        .filter(|file| *file == "./etc/ebsd.toml" || !file.starts_with("./etc/"))
        .collect();
    assert_eq!(others, FILES.to_vec());
    for page in ["ebs.1", "ebs-report.1", "ebs-walk.1", "eip2r.1"] {
        assert!(pages.iter().any(|file| file.ends_with(&format!("/{page}"))), "{pages:?}");
    }
    scene.shell("root/usr/sbin/ebsd --version; root/usr/bin/ebs --version").success();
    // What debuggers want is in the other package.
    let programs = [
        "usr/bin/ebs",
        "usr/bin/eip2r",
        "usr/bin/ebs-walk",
        "usr/sbin/ebsd",
        "usr/lib/hardmeter/libhardmeter.so",
        "usr/lib/hardmeter/libhardmeter_heap.so",
    ];
    for program in programs {
        assert_eq!(debug_sections(&scene, &format!("root/{program}")), "", "{program}");
    }
    let unpacked = scene.shell(&format!(
        "dpkg-deb -x {symbols} symbols; find symbols/usr/lib/debug/.build-id -name '*.debug'"
    ));
    let found: Vec<String> = unpacked.success().out.lines().map(str::to_owned).collect();
    assert_eq!(found.len(), programs.len(), "{found:?}");
    for file in found {
        assert_ne!(debug_sections(&scene, &file), "", "{file}");
    }
    has_what_debian_asks_for(&scene, package, symbols);
    // A stranger reads the description first.
    let said = scene.shell(&format!("dpkg-deb -f {package} Description")).success().out;
    assert!(said.contains("profiler") && !said.contains("ledger"), "{said}");
    assert!(said.lines().all(|line| line.len() <= 80), "{said}");
    let outcome = scene.shell(&format!(
        "{install}; $dpkg -P hardmeter > out 2>&1 || {{ cat out >&2; exit 1; }}
        find root -path root/var -prune -o -type f \\( -name '*ebs*' -o -name '*eip2r*' \\) -print"
    ));
    assert_eq!(outcome.success().out, "", "nothing stays");
}
