//! `box-image VMLINUZ ROOT OUT COMMAND_LINE`: what Bochs puts into the memory
//! of a box. Makes `kernel`, `initrd` and `low` of OUT, from a kernel and the
//! folder ROOT; `OUT/start` is start.S, assembled.

use std::{
    env, fs,
    fs::File,
    io::{BufWriter, Write},
    path::Path,
};

use anyhow::{Context, Result, bail};
use pmu_box::{
    bzimage::BzImage,
    initrd,
    memory_image::MemoryImage,
    zero_page::{self, HandedOver},
};

/// Behind every kernel; `bochsrc.in` says so, too.
const INITRD: u32 = 0x800_0000;

fn main() -> Result<()> {
    let arguments: Vec<_> = env::args().skip(1).collect();
    let [vmlinuz, root, out, command_line] = arguments.as_slice() else {
        bail!("usage: box-image VMLINUZ ROOT OUT COMMAND_LINE");
    };
    let out = Path::new(out);
    let bytes = fs::read(vmlinuz).with_context(|| format!("reading {vmlinuz}"))?;
    let image = BzImage::new(&bytes).with_context(|| vmlinuz.clone())?;
    let kernel = MemoryImage::of(&image.kernel()?).with_context(|| vmlinuz.clone())?;
    fs::write(out.join("kernel"), &kernel.bytes)?;
    let packed = out.join("initrd");
    let mut file = BufWriter::new(File::create(&packed)?);
    initrd::write(Path::new(root), &mut file).with_context(|| format!("packing {root}"))?;
    file.flush()?;
    let low = zero_page::image(
        &image,
        &HandedOver {
            program: &fs::read(out.join("start")).context("start.S, assembled")?,
            entry: kernel.entry,
            command_line,
            initrd: INITRD,
            initrd_length: u32::try_from(fs::metadata(&packed)?.len())?,
        },
    )?;
    fs::write(out.join("low"), low)?;
    Ok(())
}
