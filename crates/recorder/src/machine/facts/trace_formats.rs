//! How tracepoints' payloads are laid out: what perf wants of a recording in
//! file form before it opens it.

use std::path::{Path, PathBuf};

use perfdata::recording::file_form::{TracepointFormat, TracingData};

use super::tree::Tree;
use super::{Facts, FactsError, Tracefs};

#[derive(Debug, thiserror::Error)]
pub enum NoFormat {
    #[error("tracefs is not mounted")]
    NoTracefs,
    #[error("tracefs has no tracepoint {name} of number {id}")]
    Unknown { name: String, id: u64 },
    #[error("{} is not there for this user", path.display())]
    Closed { path: PathBuf },
    #[error(transparent)]
    Facts(#[from] FactsError),
}

impl Facts {
    /// What tracefs says of these tracepoints, each a name (`GROUP:NAME`) and
    /// the number in its attr; `root` as in [`Facts::read`].
    ///
    /// # Errors
    /// A tracepoint that tracefs does not have, or not for us.
    pub fn tracing_data(
        &self,
        root: &Path,
        points: &[(&str, u64)],
    ) -> Result<TracingData, NoFormat> {
        let Tracefs::At(place) = &self.tracefs else { return Err(NoFormat::NoTracefs) };
        let tree = Tree::new(root);
        let events = place.join("events");
        let mut formats = Vec::new();
        for &(name, id) in points {
            let unknown = || NoFormat::Unknown { name: name.to_owned(), id };
            let (subsystem, point) = parts(name).ok_or_else(unknown)?;
            let directory = events.join(subsystem).join(point);
            let format = TracepointFormat {
                subsystem: subsystem.to_owned(),
                format: file(&tree, &directory.join("format"))?,
            };
            if tree.number(directory.join("id"))? != Some(id) {
                return Err(unknown());
            }
            if !formats.contains(&format) {
                formats.push(format);
            }
        }
        formats.sort_by(|a, b| a.subsystem.cmp(&b.subsystem));
        Ok(TracingData {
            page_size: u32::try_from(self.page_bytes()).unwrap_or(4096),
            header_page: file(&tree, &events.join("header_page"))?,
            header_event: file(&tree, &events.join("header_event"))?,
            formats,
        })
    }
}

/// Group and name, without what perf and we write behind a second colon.
fn parts(name: &str) -> Option<(&str, &str)> {
    let mut parts = name.split(':');
    let (subsystem, point) = (parts.next()?, parts.next()?);
    let is_name = |part: &&str| !part.is_empty() && !part.starts_with('.') && !part.contains('/');
    [subsystem, point].iter().all(is_name).then_some((subsystem, point))
}

fn file(tree: &Tree<'_>, path: &Path) -> Result<Vec<u8>, NoFormat> {
    tree.bytes(path)?.ok_or_else(|| NoFormat::Closed { path: tree.path(path) })
}
