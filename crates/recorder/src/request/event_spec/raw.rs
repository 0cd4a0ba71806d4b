//! `rN`: a config word in hexadecimal.

use super::Modifiers;

/// Bits of IA32_PERFEVTSELx that the kernel sets itself, as SDM and libpfm4
/// print them in codes: USR, OS, INT, EN. [SDM vol. 3, 20.2.1.1]
const USER: u64 = 1 << 16;
const SYSTEM: u64 = 1 << 17;
const CONTROL: u64 = USER | SYSTEM | 1 << 20 | 1 << 22;

/// The word that `rN` or `r0xN` names; None when the text is no such thing.
pub(super) fn parse(name: &str) -> Option<u64> {
    let digits = name.strip_prefix('r')?;
    let digits = digits.strip_prefix("0x").unwrap_or(digits);
    let is_word = (1..=16).contains(&digits.len());
    let all_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    (is_word && all_hex).then(|| u64::from_str_radix(digits, 16).ok()).flatten()
}

/// Takes the control bits out of `config`: newer kernels refuse them. USR
/// and OS become levels, unless `modifiers` name some. The bits taken out
/// come third.
pub(super) fn strip(config: u64, modifiers: Modifiers) -> (u64, Modifiers, u64) {
    let stripped = config & CONTROL;
    let mut modifiers = modifiers;
    if stripped & (USER | SYSTEM) != 0 && !modifiers.any_level {
        modifiers.user = stripped & USER != 0;
        modifiers.kernel = stripped & SYSTEM != 0;
        modifiers.any_level = true;
    }
    (config & !CONTROL, modifiers, stripped)
}

/// What was made of the control bits, for the user; None when there were
/// none.
pub(super) fn note(config: u64, stripped: u64, modifiers: Modifiers) -> Option<String> {
    if stripped == 0 {
        return None;
    }
    let names = [(16, "USR"), (17, "OS"), (20, "INT"), (22, "EN")];
    let names: Vec<_> = names
        .into_iter()
        .filter(|(bit, _)| stripped >> bit & 1 == 1)
        .map(|(bit, name)| format!("{bit} ({name})"))
        .collect();
    let asked = (stripped & USER != 0, stripped & SYSTEM != 0);
    let levels = match asked == (modifiers.user, modifiers.kernel) {
        true if asked == (true, true) => "; they ask for user and kernel mode",
        true if asked.0 => "; they ask for user mode",
        true if asked.1 => "; they ask for kernel mode",
        _ => "",
    };
    Some(format!(
        "r{:x}: bits {} are the kernel's to set, the event is r{config:x}{levels}",
        config | stripped,
        names.join(", ")
    ))
}
