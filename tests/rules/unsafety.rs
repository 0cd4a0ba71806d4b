use crate::{
    source::{code_only, words},
    tree::{assert_clean, files_ending},
};

/// `unsafe` outside a `sys` module, and lints lifted without a reason.
fn complaints(path: &str, text: &str) -> Vec<String> {
    let code = code_only(text);
    let mut found = Vec::new();
    if !in_sys(path) {
        for (line, _) in words(&code).filter(|(_, word)| *word == "unsafe") {
            found.push(format!("{path}:{line}: `unsafe` outside a module called `sys`"));
        }
    }
    for (line, attribute, after) in lifted(&code) {
        if !words(&attribute).any(|(_, word)| word == "reason") {
            found.push(format!("{path}:{line}: a lint is lifted without its reason"));
        }
        let lifts_unsafe = words(&attribute).any(|(_, word)| word == "unsafe_code");
        let item: Vec<_> = words(&after).map(|(_, word)| word).take(4).collect();
        let on_sys = item.windows(2).any(|pair| pair == ["mod", "sys"]);
        if lifts_unsafe && !on_sys {
            found.push(format!(
                "{path}:{line}: `unsafe_code` is lifted for something not `mod sys`"
            ));
        }
    }
    found
}

fn in_sys(path: &str) -> bool {
    path.split('/').any(|part| part == "sys" || part == "sys.rs")
}

/// Each `#[allow(...)]` and `#[expect(...)]`, inner or outer: line, text of
/// the attribute, and the line of code that comes after it.
fn lifted(code: &str) -> Vec<(usize, String, String)> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices('#') {
        let rest = code[at + 1..].trim_start_matches('!');
        let Some(body) = rest.strip_prefix('[') else { continue };
        let Some(end) = body.find(']') else { continue };
        let attribute = &body[..end];
        let lifts = ["allow", "expect"].iter().any(|lint| {
            words(attribute).any(|(_, word)| word == *lint)
                && attribute.contains(&format!("{lint}("))
        });
        if lifts {
            let line = code[..at].matches('\n').count() + 1;
            let after = body[end + 1..].trim_start().lines().next().unwrap_or_default();
            found.push((line, attribute.to_owned(), after.to_owned()));
        }
    }
    found
}

#[test]
fn unsafe_lives_in_sys_modules_only() {
    let all: Vec<_> =
        files_ending(".rs").iter().flat_map(|file| complaints(&file.path, &file.text)).collect();
    assert_clean(&all);
}

#[test]
fn planted_unsafe_is_caught() {
    let block = "fn f() {\n    unsafe { g() }\n}\n";
    assert_eq!(complaints("crates/perfdata/src/bytes.rs", block).len(), 1);
    assert!(
        complaints("crates/perfdata/src/bytes.rs", block)[0]
            .starts_with("crates/perfdata/src/bytes.rs:2:")
    );
    assert!(complaints("daemon/src/sys/ring.rs", block).is_empty());
    assert!(
        complaints("crates/perfdata/src/bytes.rs", "// unsafe\nlet s = \"unsafe\";").is_empty()
    );
}

#[test]
fn a_lint_lifted_without_reason_or_elsewhere_is_caught() {
    assert_eq!(complaints("a/src/x.rs", "#[allow(dead_code)]\nfn f() {}").len(), 1);
    assert_eq!(complaints("a/src/x.rs", "#![expect(\n    dead_code\n)]\n").len(), 1);
    assert!(
        complaints("a/src/x.rs", "#[allow(dead_code, reason = \"why\")]\nfn f() {}").is_empty()
    );
    let on_other = "#[allow(unsafe_code, reason = \"why\")]\npub mod ring;";
    assert_eq!(complaints("a/src/x.rs", on_other).len(), 1);
    let on_sys = "#[allow(unsafe_code, reason = \"why\")]\npub(crate) mod sys;";
    assert!(complaints("a/src/x.rs", on_sys).is_empty());
    assert_eq!(complaints("a/src/x.rs", "#[cfg_attr(test, allow(dead_code))]\nfn f() {}").len(), 1);
}
