//! What is installed: unit, socket, package.

use std::{fs, path::Path, process::Command};

use hardmeter_tests::{Scene, built};

fn packaging() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("daemon/packaging")
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
    let text = text.replace("/usr/sbin/ebsd", program.to_str().unwrap());
    scene.write("ebsd.service", text);
    fs::copy(packaging().join("ebsd.socket"), scene.path("ebsd.socket")).unwrap();
    let verify = scene.shell("systemd-analyze verify --man=no ./ebsd.service ./ebsd.socket");
    let about_it = verify.err.lines().filter(|line| line.contains("ebsd")).count();
    assert_eq!(about_it, 0, "{verify}");
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

const FILES: [&str; 23] = [
    "./etc/ebsd.toml",
    "./usr/bin/ebs",
    "./usr/bin/eip2r",
    "./usr/lib/systemd/system/ebsd.service",
    "./usr/lib/systemd/system/ebsd.socket",
    "./usr/lib/sysusers.d/ebsd.conf",
    "./usr/lib/tmpfiles.d/ebsd.conf",
    "./usr/sbin/ebsd",
    "./usr/share/bash-completion/completions/ebs",
    "./usr/share/bash-completion/completions/ebsd",
    "./usr/share/bash-completion/completions/eip2r",
    "./usr/share/doc/hardmeter/copyright",
    "./usr/share/doc/hardmeter/examples/60-ebsd.conf",
    "./usr/share/doc/hardmeter/operation.md",
    "./usr/share/doc/hardmeter/protocol.md",
    "./usr/share/doc/hardmeter/threat-model.md",
    "./usr/share/fish/vendor_completions.d/ebs.fish",
    "./usr/share/fish/vendor_completions.d/ebsd.fish",
    "./usr/share/fish/vendor_completions.d/eip2r.fish",
    "./usr/share/man/man8/ebsd.8",
    "./usr/share/zsh/vendor-completions/_ebs",
    "./usr/share/zsh/vendor-completions/_ebsd",
    "./usr/share/zsh/vendor-completions/_eip2r",
];

/// In a root directory of its own: nothing of the machine is touched.
#[test]
fn the_package_installs_these_files_and_takes_them_away() {
    let test = "the_package_installs_these_files_and_takes_them_away";
    if !has(test, "cargo", &["deb", "--version"]) || !has(test, "dpkg", &["--version"]) {
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
    let package = String::from_utf8(made.stdout).unwrap();
    let package = package.trim();
    let install = "mkdir -p root/var/lib/dpkg/{updates,info} root/etc; touch root/var/lib/dpkg/status
        dpkg=\"dpkg --root=$PWD/root --force-not-root --force-depends --force-script-chrootless --log=log\"";
    let outcome = scene.shell(&format!(
        "{install}; $dpkg -i {package} > out 2>&1 || {{ cat out >&2; exit 1; }}
        cd root; find . -type f -o -type l | grep -v ^./var/lib/dpkg | sed s/.gz$// | sort"
    ));
    let files: Vec<String> = outcome.success().out.lines().map(str::to_owned).collect();
    let (pages, others): (Vec<_>, Vec<_>) =
        files.iter().partition(|file| file.starts_with("./usr/share/man/man1/"));
    // The user, where systemd-sysusers is at hand.
    let others: Vec<_> = others
        .into_iter()
        .filter(|file| *file == "./etc/ebsd.toml" || !file.starts_with("./etc/"))
        .collect();
    assert_eq!(others, FILES.to_vec());
    for page in ["ebs.1", "ebs-report.1", "eip2r.1"] {
        assert!(pages.iter().any(|file| file.ends_with(&format!("/{page}"))), "{pages:?}");
    }
    scene.shell("root/usr/sbin/ebsd --version; root/usr/bin/ebs --version").success();
    let outcome = scene.shell(&format!(
        "{install}; $dpkg -P hardmeter > out 2>&1 || {{ cat out >&2; exit 1; }}
        find root -path root/var -prune -o -type f \\( -name '*ebs*' -o -name '*eip2r*' \\) -print"
    ));
    assert_eq!(outcome.success().out, "", "nothing stays");
}
