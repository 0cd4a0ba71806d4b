//! `ebs archive`: the files that a recording's names come from, into it.

mod named_places;

use crate::ebs::arguments::{ArchiveArguments, SymbolArguments};
use crate::ebs::convert::Rewriting;
use crate::ebs::input::{End, Input};
use crate::ebs::report;
use crate::terminal::said::say;
use anyhow::{Context, Result, anyhow, bail};
use named_places::NamedPlaces;
use perfdata::recording::RecordingDecoder;
use perfdata::stream::{FeatureId, StreamDecoder};
use std::path::Path;
use std::sync::Arc;
use symbolizer::{FilePacker, PackedFiles, Symbolizer, SymbolizerOptions};

/// Files without a name that are named when some are.
const MOST_TOLD: usize = 8;

/// Packs what the names of a recording's samples come from, and writes the
/// recording anew with it.
///
/// # Errors
///
/// A recording that is no file, of which nothing can be read, or that cannot be
/// written; a damaged one that no other was named for: nothing is changed then.
/// Damage of the recording, after all that could be read was written elsewhere.
pub fn run(arguments: &ArchiveArguments) -> Result<()> {
    let file = &arguments.file;
    if !file.is_file() {
        if file != Path::new("-") {
            // Its own words say what is wrong with it.
            Input::open(file)?;
        }
        bail!(
            "{}: a recording is read twice, and then once more as it is written: name a file",
            file.display()
        );
    }
    let symbols = SymbolArguments {
        root: arguments.root.clone(),
        symfs: arguments.symfs.clone(),
        ..SymbolArguments::default()
    };
    let options = report::symbols_of(&Input::open(file)?, &symbols)?;
    let spool = tempfile::tempfile().context("cannot make a file in TMPDIR")?;
    let most = arguments.max_size.saturating_mul(1 << 20);
    let packer = Arc::new(FilePacker::new(spool, most));
    let packs = SymbolizerOptions { packer: Some(Arc::clone(&packer)), ..options };
    let mut places = NamedPlaces::new(Symbolizer::new(packs));
    let ended = places.read(file)?;
    let missing = places.pack();
    drop(places);
    let packer = Arc::into_inner(packer).ok_or_else(|| anyhow!("files are still being packed"))?;
    let packed = packer.finish().context("the files cannot be packed in TMPDIR")?;
    let output = match (&arguments.output, &ended.end) {
        (Some(output), _) => output,
        (None, End::Whole) => file,
        // What cannot be read would be gone.
        (None, End::Damaged(_)) => {
            let damage = ended.end.into_result();
            return damage.context("it is left as it is: -o OUT writes what can be read of it");
        }
    };
    let written = Rewriting { from: file, to: output }.with_feature(
        FeatureId::CARRIED_FILES,
        packed.archive.try_clone()?,
        packed.size,
    )?;
    say("ebs", &format!("{written}; it carries {}", told(&packed)));
    let lacks = left_out(&packed, &missing);
    if lacks.is_empty() {
        say("ebs", "reports on it need no others");
    }
    for line in lacks {
        say("ebs", &line);
    }
    if let Some(line) = kernel(ended.decoder.stream()) {
        say("ebs", line);
    }
    ended.end.into_result()
}

/// What a recording ended with, once it was read.
pub(super) struct ReadRecording {
    pub(super) decoder: RecordingDecoder,
    pub(super) end: End,
}

fn told(packed: &PackedFiles) -> String {
    let mib = |bytes: u64| format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20));
    format!("{} files, {} packed from {}", packed.files, mib(packed.size), mib(packed.unpacked))
}

fn left_out(packed: &PackedFiles, missing: &[String]) -> Vec<String> {
    let mut lines = Vec::new();
    if !packed.left_out.is_empty() {
        let files = packed.left_out.join(", ");
        lines.push(format!("not carried, as there would be too much (--max-size): {files}"));
    }
    lines.extend(missing.iter().take(MOST_TOLD).map(|why| format!("not carried: {why}")));
    if missing.len() > MOST_TOLD {
        lines.push(format!("and {} other files", missing.len() - MOST_TOLD));
    }
    lines
}

/// What another machine cannot say of the kernel.
fn kernel(stream: &StreamDecoder) -> Option<&'static str> {
    let samples_kernel = stream
        .events()
        .iter()
        .any(|event| !event.attr.flags.contains(perfdata::AttrFlags::EXCLUDE_KERNEL));
    (samples_kernel && stream.features().kernel_list.is_none()).then_some(
        "the kernel's symbols are not in it: elsewhere give its System.map or kallsyms (-s FILE), \
         or record with `ebs -k -o FILE.data`, which keeps them",
    )
}
