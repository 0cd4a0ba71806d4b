//! `ebs archive`: the files that a recording's names come from, into it.

use crate::ebs::arguments::SymbolArguments;
use crate::ebs::convert::Rewriting;
use crate::ebs::input::{End, Input};
use crate::ebs::report;
use crate::terminal::say;
use anyhow::{Context, Result, anyhow, bail};
use clap::Args;
use perfdata::aggregate::Site;
use perfdata::callchain::{CallChainWord, parts};
use perfdata::recording::RecordingDecoder;
use perfdata::stream::{FeatureId, StreamDecoder, StreamRecord};
use perfdata::{CpuMode, Sample, SidebandRecord};
use rustc_hash::FxHashSet;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use symbolizer::{
    FilePacker, PackedFiles, Place, Resolution, SampledAddress, StackFrame, Symbolizer,
    SymbolizerOptions, UserStack,
};

/// Which recording, and where it goes.
#[derive(Clone, Debug, Default, Args)]
#[command(after_long_help = ARCHIVE_NOTES)]
pub struct ArchiveArguments {
    /// Recording in file form, of ebs or perf.
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Writes another recording with the files and leaves FILE as it is.
    #[arg(short, long, value_name = "OUT")]
    pub output: Option<PathBuf>,
    /// Carries at most so many MiB of files, before they are packed.
    #[arg(long, value_name = "MIB", default_value_t = 4096)]
    pub max_size: u64,
    /// Directory that stands for / when files are opened.
    #[arg(long, value_name = "DIR", default_value = "/", help_heading = "Symbols")]
    pub root: PathBuf,
    /// Directory below which the files are, and nowhere else: copies of another machine's.
    #[arg(long, value_name = "DIR", help_heading = "Symbols")]
    pub symfs: Option<PathBuf>,
}

const ARCHIVE_NOTES: &str = "\
Packed are the programs and libraries that samples and their callers lie in, by build id or inode,
their debug files, maps of generated code and the vdso; no source files, and nothing of the kernel
but the symbols that `ebs -k -o` keeps. `ebs report`, `ebs script` and `ebs annotate` take names
from them, on any machine. They are a zip archive at the end of the recording, which perf passes
over: `unzip -l FILE` lists it.

  ebs archive server.data              then copy server.data, and report on it elsewhere
  ebs archive server.data -o all.data  leaves server.data as it is

Exit status: 0; 1 when nothing could be written, or when FILE is damaged: it is left as it is then,
and OUT has what could be read of it; 2 for a wrong command line.";

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
        FeatureId::EMBEDDED_FILES,
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

/// Places that are kept; then they are asked for, and a new lot begins.
const MOST_PLACES: usize = 1 << 20;
const MOST_FRAMES: usize = 1024;
const MOST_REASONS: usize = 4096;

struct NamedPlaces {
    symbolizer: Symbolizer,
    code: FxHashSet<Place>,
    data: FxHashSet<Place>,
    frames: Vec<StackFrame>,
    missing: BTreeSet<String>,
}

impl NamedPlaces {
    fn new(symbolizer: Symbolizer) -> NamedPlaces {
        NamedPlaces {
            symbolizer,
            code: FxHashSet::default(),
            data: FxHashSet::default(),
            frames: Vec::new(),
            missing: BTreeSet::new(),
        }
    }

    /// Reads a recording twice: where everything was mapped, then what was
    /// sampled there.
    fn read(&mut self, file: &Path) -> Result<ReadRecording> {
        let mut input = Input::open(file)?;
        let mut decoder = input.decoder();
        let end = input.read(&mut decoder, |stream, record| {
            self.symbolizer.observe(stream, record);
            Ok(())
        })?;
        if decoder.stream().events().is_empty() {
            end.into_result()?;
            anyhow::bail!("{}: the recording describes no event", input.name());
        }
        let mut input = Input::open(file)?;
        let mut again = input.decoder();
        // What is wrong with it is known by now.
        let _: End = input.read(&mut again, |stream, record| {
            match record {
                StreamRecord::Sample(record) => {
                    record.decode(stream).into_iter().for_each(|sample| self.sample(&sample));
                }
                // Of chains whose samples came before.
                StreamRecord::Sideband {
                    record: SidebandRecord::CallchainDeferred { chain, .. },
                    id,
                    ..
                } => {
                    let at = SampledAddress {
                        mode: CpuMode::User,
                        pid: id.task.unwrap_or_default().pid,
                        address: 0,
                        time: id.time.unwrap_or_default(),
                    };
                    self.chain(at, chain.iter());
                }
                StreamRecord::Aggregate { part, .. } => {
                    part.sites.iter().for_each(|site| self.site(site));
                }
                _ => {}
            }
            Ok(())
        })?;
        Ok(ReadRecording { decoder, end })
    }

    fn sample(&mut self, sample: &Sample<'_>) {
        let at = SampledAddress::of(sample);
        if sample.ip.is_some() {
            self.code(at);
        }
        self.chain(at, sample.callchain.unwrap_or_default().iter());
        for branch in sample.branch_stack.iter().flat_map(|stack| stack.branches()) {
            self.code(SampledAddress { address: branch.from, ..at });
            self.code(SampledAddress { address: branch.to, ..at });
        }
        self.stack(at, sample);
        if let Some(address) = sample.addr.filter(|address| *address != 0) {
            let at = SampledAddress { address, ..at };
            self.data.insert(at.data_place(&mut self.symbolizer));
        }
        if self.code.len() + self.data.len() > MOST_PLACES {
            self.ask();
        }
    }

    /// Hits that the kernel counted: of a process, or of those of which some
    /// are whole.
    fn site(&mut self, site: &Site) {
        let taken = site.taken.iter().map(|hit| (hit.pid, hit.time));
        let own = site.process.map(|pid| (pid, site.last));
        let chain = site.chain.as_deref().unwrap_or_default();
        for (pid, time) in taken.chain(own) {
            let at = SampledAddress { mode: site.mode, pid, address: site.ip, time };
            self.code(at);
            self.chain(at, chain.iter().copied());
        }
        if self.code.len() + self.data.len() > MOST_PLACES {
            self.ask();
        }
    }

    fn code(&mut self, at: SampledAddress) {
        let at = at.by_address(&self.symbolizer);
        self.code.insert(at.place(&mut self.symbolizer));
    }

    /// Callers that were recorded. A return address is looked up one byte before.
    fn chain(&mut self, at: SampledAddress, words: impl Iterator<Item = u64> + Clone) {
        for word in parts(words) {
            if let CallChainWord::Address(address) = word {
                self.code(SampledAddress { address: address.saturating_sub(1), ..at });
            }
        }
    }

    fn stack(&mut self, at: SampledAddress, sample: &Sample<'_>) {
        let (Some(registers), Some(stack)) = (sample.regs_user, sample.stack_user) else { return };
        let SampledAddress { pid, time, .. } = at;
        let mut frames = std::mem::take(&mut self.frames);
        frames.clear();
        let of = UserStack { pid, time, registers, stack, most: MOST_FRAMES };
        // What is missing is told where its file is asked for.
        let _ = self.symbolizer.unwind(&of, &mut frames);
        for frame in &frames {
            self.code(SampledAddress { mode: CpuMode::User, address: frame.code(), ..at });
        }
        self.frames = frames;
    }

    /// Asks for all that there is to know. Gives the reasons why some files
    /// cannot be had.
    fn pack(&mut self) -> Vec<String> {
        self.ask();
        std::mem::take(&mut self.missing).into_iter().collect()
    }

    fn ask(&mut self) {
        let code: Vec<Place> = std::mem::take(&mut self.code).into_iter().collect();
        for place in &code {
            if let Resolution::Unknown(reason) = self.symbolizer.resolve(*place)
                && reason.is_of_a_file()
                && self.missing.len() < MOST_REASONS
            {
                self.missing.insert(reason.to_string());
            }
        }
        // Of debug info only the files matter here.
        let _ = self.symbolizer.all_frames(&code);
        for place in std::mem::take(&mut self.data) {
            let _ = self.symbolizer.resolve_data(place);
        }
    }
}
