//! Every type on every machine, as `ebs plan --json` prints it: a file a
//! tree, for readers of a change. What is right is for the review to say.

use super::trees;
use serde_json::Value;
use std::fmt::Write;

#[test]
fn plans_of_all_trees() {
    let mut settings = insta::Settings::clone_current();
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| {
        for tree in trees::names() {
            let mut text = String::new();
            for kind in trees::hardware_types() {
                let (user, status) = trees::plan(&tree, &with_masks(kind, "-u"));
                let (kernel, _) = trees::plan(&tree, &with_masks(kind, "-k"));
                let _ = writeln!(text, "{kind} -u: exit {status}\n{user}");
                let _ = writeln!(text, "{kind} -k: {}", difference(&user, &kernel));
            }
            insta::assert_snapshot!(tree.as_str(), text);
        }
    });
}

/// l2_rqsts is nothing without masks; these exist in most layouts.
fn with_masks<'a>(kind: &'a str, mode: &'a str) -> Vec<&'a str> {
    let masks: &[&str] = if kind == "l2_rqsts" { &["-m", "demand_rd,miss"] } else { &[] };
    [&["-t", kind, mode], masks].concat()
}

/// What of `-k` is not as with `-u`: path and value, a line each.
fn difference(user: &Value, kernel: &Value) -> String {
    let mut lines = Vec::new();
    differ("", user, kernel, &mut lines);
    lines.join("; ")
}

fn differ(path: &str, one: &Value, other: &Value, lines: &mut Vec<String>) {
    match (one, other) {
        (Value::Object(one), Value::Object(two)) if one.len() == two.len() => {
            for (key, value) in one {
                differ(&format!("{path}.{key}"), value, &other[key], lines);
            }
        }
        (Value::Array(one), Value::Array(two)) if one.len() == two.len() => {
            for (index, (one, two)) in one.iter().zip(two).enumerate() {
                differ(&format!("{path}[{index}]"), one, two, lines);
            }
        }
        _ if one == other => {}
        _ => lines.push(format!("{path} = {other}")),
    }
}
