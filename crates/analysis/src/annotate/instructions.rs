//! Bytes of code -> instructions, and their text.

use crate::code::instruction_class::decode;
use iced_x86::{
    FlowControl, Formatter, FormatterOptions, GasFormatter, Instruction, IntelFormatter, OpKind,
};

/// Which assembler's way of writing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Syntax {
    /// AT&T's, as objdump and perf print: source first.
    #[default]
    Att,
    /// Intel's: destination first.
    Intel,
}

/// All instructions of a stretch, one behind the other. Where there is none,
/// an invalid one stands for one byte.
pub(crate) fn sweep(bytes: &[u8], bits: u32, address: u64) -> Vec<Instruction> {
    let mut all = Vec::new();
    let mut rest = bytes;
    let mut at = address;
    while !rest.is_empty() {
        let instruction = decode(rest, bits, at).unwrap_or_else(|| {
            let mut bad = Instruction::default();
            // The address is kept relative to the length.
            bad.set_len(1);
            bad.set_ip(at);
            bad
        });
        rest = rest.get(instruction.len().max(1)..).unwrap_or_default();
        at = at.wrapping_add(instruction.len().max(1) as u64);
        all.push(instruction);
    }
    all
}

/// The one whose bytes hold an address, and whether it begins there.
pub(crate) fn holding(instructions: &[Instruction], address: u64) -> Option<(usize, bool)> {
    let index = instructions.partition_point(|it| it.ip() <= address).checked_sub(1)?;
    let found = instructions.get(index)?;
    let is_within = address.wrapping_sub(found.ip()) < found.len() as u64;
    is_within.then_some((index, found.ip() == address))
}

pub(crate) struct Writer {
    formatter: Box<dyn Formatter>,
    syntax: Syntax,
}

impl std::fmt::Debug for Writer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Writer").finish_non_exhaustive()
    }
}

impl Writer {
    pub(crate) fn new(syntax: Syntax) -> Writer {
        let mut formatter: Box<dyn Formatter> = match syntax {
            Syntax::Att => Box::new(GasFormatter::new()),
            Syntax::Intel => Box::new(IntelFormatter::new()),
        };
        like_objdump(formatter.options_mut());
        Writer { formatter, syntax }
    }

    /// Mnemonic and operands, without names.
    pub(crate) fn text(&mut self, instruction: &Instruction) -> String {
        if instruction.is_invalid() {
            return "(bad)".to_owned();
        }
        let mut text = String::new();
        self.formatter.format(instruction, &mut text);
        // What it makes of a scale where there is no index.
        let text = text.replace(",)", ")");
        let is_att = self.syntax == Syntax::Att;
        match instruction.flow_control() {
            // binutils has had no suffix on branches since 2.37, and writes
            // where they lead as it writes addresses of lines.
            FlowControl::IndirectCall | FlowControl::IndirectBranch if is_att => {
                text.replacen("callq ", "call  ", 1).replacen("jmpq ", "jmp  ", 1)
            }
            FlowControl::Next if is_att => in_full(text, instruction),
            FlowControl::Next => text,
            _ if target(instruction).is_some() => text.replacen(" 0x", " ", 1),
            _ => text,
        }
    }
}

/// Segments of strings, which objdump shows; no suffix on what the stack
/// gives its width.
fn in_full(text: String, instruction: &Instruction) -> String {
    let mut text = text;
    for operand in 0..instruction.op_count() {
        let (plain, full) = match instruction.op_kind(operand) {
            OpKind::MemoryESRDI => ("(%rdi)", "%es:(%rdi)"),
            OpKind::MemoryESEDI => ("(%edi)", "%es:(%edi)"),
            OpKind::MemorySegRSI => ("(%rsi)", "%ds:(%rsi)"),
            OpKind::MemorySegESI => ("(%esi)", "%ds:(%esi)"),
            _ => continue,
        };
        if !text.contains(&format!(":{plain}")) {
            text = text.replacen(plain, full, 1);
        }
    }
    text.replacen("pushq ", "push  ", 1).replacen("popq ", "pop  ", 1)
}

fn like_objdump(options: &mut FormatterOptions) {
    options.set_first_operand_char_index(7);
    options.set_uppercase_hex(false);
    options.set_hex_prefix("0x");
    options.set_hex_suffix("");
    options.set_small_hex_numbers_in_decimal(false);
    options.set_branch_leading_zeros(false);
    options.set_displacement_leading_zeros(false);
    options.set_leading_zeros(false);
    options.set_rip_relative_addresses(true);
    options.set_show_branch_size(false);
    options.set_always_show_scale(true);
    options.set_show_zero_displacements(true);
}

/// The address that an instruction names: where it branches to, or what it
/// addresses relative to itself.
pub(crate) fn target(instruction: &Instruction) -> Option<u64> {
    if instruction.is_invalid() {
        return None;
    }
    let is_near = matches!(
        instruction.op0_kind(),
        OpKind::NearBranch16 | OpKind::NearBranch32 | OpKind::NearBranch64
    );
    let branches = !matches!(instruction.flow_control(), FlowControl::Next);
    match branches && is_near {
        true => Some(instruction.near_branch_target()),
        false => {
            instruction.is_ip_rel_memory_operand().then(|| instruction.ip_rel_memory_address())
        }
    }
}

#[cfg(test)]
#[allow(clippy::print_stderr, reason = "a test that skips says why")]
mod tests {
    use super::*;

    fn att(bytes: &[u8]) -> Vec<String> {
        let mut writer = Writer::new(Syntax::Att);
        sweep(bytes, 64, 0x1000).iter().map(|it| writer.text(it)).collect()
    }

    #[test]
    fn text_is_that_of_objdump() {
        // Each line as objdump -d of binutils 2.40 prints it.
        for (bytes, text) in [
            (&[0x48, 0x8b, 0x51, 0x28][..], "mov    0x28(%rcx),%rdx"),
            (&[0x48, 0x03, 0x04, 0xcf], "add    (%rdi,%rcx,8),%rax"),
            (&[0x48, 0x83, 0xec, 0x08], "sub    $0x8,%rsp"),
            (&[0x48, 0x83, 0xc0, 0xff], "add    $0xffffffffffffffff,%rax"),
            (&[0x55], "push   %rbp"),
            (&[0xc3], "ret"),
            (&[0xeb, 0x10], "jmp    1012"),
            (&[0xc7, 0x00, 0x05, 0, 0, 0], "movl   $0x5,(%rax)"),
            (&[0x48, 0x8d, 0x05, 0x10, 0, 0, 0], "lea    0x10(%rip),%rax"),
            (&[0xf3, 0x48, 0xa5], "rep movsq %ds:(%rsi),%es:(%rdi)"),
            (&[0x48, 0x8b, 0x45, 0x00], "mov    0x0(%rbp),%rax"),
            (&[0x48, 0x8b, 0x04, 0x08], "mov    (%rax,%rcx,1),%rax"),
            (&[0xff, 0x15, 0x10, 0, 0, 0], "call   *0x10(%rip)"),
            (&[0xff, 0x70, 0x08], "push   0x8(%rax)"),
        ] {
            let found = att(bytes);
            let found: Vec<&str> = found.iter().map(|text| text.trim_end()).collect();
            assert_eq!(found, [text]);
        }
    }

    /// Counts over a large library, whose instructions are of all kinds.
    #[test]
    fn a_library_is_decoded_as_objdump_does() {
        let library = "/usr/lib/x86_64-linux-gnu/libc.so.6";
        let listed = std::process::Command::new("objdump")
            .args(["-d", "-w", "--no-show-raw-insn", "--stop-address=0x80000", library])
            .output();
        let Some(listed) = listed.ok().filter(|listed| listed.status.success()) else {
            eprintln!("skipped: a_library_is_decoded_as_objdump_does: no objdump of {library}");
            return;
        };
        let file = std::fs::read(library).unwrap();
        let listed = String::from_utf8(listed.stdout).unwrap();
        let mut lines = Vec::new();
        for line in listed.lines().filter_map(|line| line.split_once(":\t")) {
            let Ok(address) = u64::from_str_radix(line.0.trim(), 16) else { continue };
            let text = line.1.split(['#', '<']).next().unwrap_or_default();
            let words: Vec<&str> = text.split_whitespace().collect();
            lines.push((address, words.join(" ")));
        }
        // Text lies in Debian's libc where it is linked for.
        let mut writer = Writer::new(Syntax::Att);
        let (mut same_text, mut same_length, mut compared) = (0, 0, 0);
        let mut unlike = std::collections::BTreeMap::new();
        for pair in lines.windows(2) {
            let [(address, text), (next, _)] = pair else { continue };
            let from = usize::try_from(*address).unwrap();
            let Some(bytes) = file.get(from..from + 15) else { continue };
            let instruction = sweep(bytes, 64, *address)[0];
            compared += 1;
            same_length += usize::from(address + instruction.len() as u64 == *next);
            let ours = writer.text(&instruction);
            let ours = ours.split_whitespace().collect::<Vec<_>>().join(" ");
            match ours == *text {
                true => same_text += 1,
                false => {
                    let mnemonic = text.split(' ').next().unwrap_or_default().to_owned();
                    unlike.entry(mnemonic).or_insert((0, ours, text.clone())).0 += 1;
                }
            }
        }
        let mut unlike: Vec<_> = unlike.into_values().collect();
        unlike.sort_by_key(|(count, ..)| std::cmp::Reverse(*count));
        unlike.truncate(40);
        assert!(compared > 50_000 && same_length * 1000 >= compared * 999);
        assert!(same_text * 100 >= compared * 99, "{same_text} of {compared}: {unlike:#?}");
    }

    #[test]
    fn every_byte_is_of_one_instruction_even_where_there_is_none() {
        // An invalid opcode of 64-bit code, and one that is cut off.
        let bytes = [0x06, 0x90, 0x48, 0x8b];
        let all = sweep(&bytes, 64, 0x10);
        let lengths: Vec<usize> = all.iter().map(Instruction::len).collect();
        assert_eq!(lengths.iter().sum::<usize>(), bytes.len());
        assert_eq!(att(&bytes)[..2], ["(bad)", "nop"]);
        assert_eq!(holding(&all, 0x11), Some((1, true)));
        assert_eq!(holding(&all, 0x14), None);
        let long = sweep(&[0x48, 0x8b, 0x51, 0x28], 64, 0x10);
        assert_eq!(holding(&long, 0x12), Some((0, false)));
        assert_eq!(holding(&long, 0xf), None);
    }

    #[test]
    fn named_addresses_are_found() {
        let of = |bytes: &[u8]| target(&sweep(bytes, 64, 0x1000)[0]);
        assert_eq!(of(&[0xeb, 0x10]), Some(0x1012));
        assert_eq!(of(&[0xe8, 0, 1, 0, 0]), Some(0x1105));
        assert_eq!(of(&[0x48, 0x8d, 0x05, 0x10, 0, 0, 0]), Some(0x1017));
        assert_eq!(of(&[0xff, 0xd0]), None);
        assert_eq!(of(&[0x06]), None);
    }
}
