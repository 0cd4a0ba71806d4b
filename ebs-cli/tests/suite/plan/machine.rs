//! A tree to change by hand.

use super::trees;
use serde_json::Value;
use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// A copy of a tree, to change.
pub(crate) struct Machine(TempDir);

impl Machine {
    pub(crate) fn like(tree: &str) -> Machine {
        let dir = TempDir::new().unwrap();
        copy(&trees::path(tree), dir.path());
        Machine(dir)
    }

    pub(crate) fn with(self, file: &str, text: &str) -> Machine {
        let path = self.0.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    pub(crate) fn without(self, file: &str) -> Machine {
        let path = self.0.path().join(file);
        if path.is_dir() {
            fs::remove_dir_all(path).unwrap()
        } else {
            fs::remove_file(path).unwrap()
        }
        self
    }

    pub(crate) fn model(self, number: u32) -> Machine {
        let text = fs::read_to_string(self.0.path().join("cpuinfo")).unwrap();
        let lines = text.lines().map(|line| match line.starts_with("model\t") {
            true => format!("model\t\t: {number}"),
            false => line.to_owned(),
        });
        let text = lines.collect::<Vec<_>>().join("\n");
        self.with("cpuinfo", &text)
    }

    pub(crate) fn family(self, number: u32) -> Machine {
        let text = fs::read_to_string(self.0.path().join("cpuinfo")).unwrap();
        let lines = text.lines().map(|line| match line.starts_with("cpu family") {
            true => format!("cpu family\t: {number}"),
            false => line.to_owned(),
        });
        let text = lines.collect::<Vec<_>>().join("\n");
        self.with("cpuinfo", &text)
    }

    /// What is printed for scripts, and the exit status.
    pub(crate) fn ask(&self, words: &[&str]) -> (Value, u8) {
        trees::plan_at(self.0.path(), words)
    }

    pub(crate) fn text(&self, words: &[&str]) -> String {
        trees::print_at(self.0.path(), words).0
    }

    pub(crate) fn plan(&self, words: &[&str]) -> Value {
        let (value, status) = self.ask(words);
        assert_eq!(status, 0, "{words:?}: {value}");
        value
    }

    pub(crate) fn refusal(&self, words: &[&str]) -> String {
        let (value, status) = self.ask(words);
        assert_eq!(status, 1, "{words:?}: {value}");
        value["refused"].as_str().unwrap_or_else(|| panic!("{value}")).to_owned()
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::write(target, fs::read(entry.path()).unwrap()).unwrap();
        }
    }
}
