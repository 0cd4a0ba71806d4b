use std::{
    fs,
    path::{Path, PathBuf},
};

use walkdir::WalkDir;

/// A file of the tree: its path from the root, with `/`, and its text.
pub(crate) struct TextFile {
    pub(crate) path: String,
    pub(crate) text: String,
}

pub(crate) fn root() -> PathBuf {
    Path::new(&std::env::var("CARGO_MANIFEST_DIR").unwrap()).parent().unwrap().to_path_buf()
}

/// Every file under the root whose name ends in `suffix`. Build products,
/// hidden folders and the fuzz corpus are not source.
pub(crate) fn files_ending(suffix: &str) -> Vec<TextFile> {
    let root = root();
    let mut found = Vec::new();
    let walk = WalkDir::new(&root).sort_by_file_name().into_iter().filter_entry(|entry| {
        let name = entry.file_name().to_string_lossy();
        entry.depth() == 0 || !(name == "target" || name == "corpus" || name.starts_with('.'))
    });
    for entry in walk {
        let entry = entry.unwrap();
        if entry.file_type().is_file() && entry.file_name().to_string_lossy().ends_with(suffix) {
            let path = entry.path().strip_prefix(&root).unwrap().to_string_lossy().into_owned();
            found.push(TextFile { path, text: fs::read_to_string(entry.path()).unwrap() });
        }
    }
    assert!(!found.is_empty(), "no {suffix} file under {}", root.display());
    found
}

/// Fails with every complaint, one a line.
#[track_caller]
pub(crate) fn assert_clean(complaints: &[String]) {
    assert!(complaints.is_empty(), "\n{}", complaints.join("\n"));
}
