//! Names that are like a mistyped one.

/// The three best of (score, name) above a floor, each name once.
pub(crate) fn best_three<'a>(scored: impl Iterator<Item = (f64, &'a str)>) -> Vec<&'a str> {
    const FLOOR: f64 = 0.55;
    let mut scored: Vec<_> = scored.filter(|(score, _)| *score >= FLOOR).collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut names = Vec::new();
    for (_, name) in scored {
        if !names.contains(&name) {
            names.push(name);
        }
        if names.len() == 3 {
            break;
        }
    }
    names
}

/// Bytes of a text that is compared with names: no name is nearly as long,
/// and likeness costs the square.
const MAX_COMPARED: usize = 100;

/// How like two names are, 0 to 1: edits per letter, in whatever order the
/// words stand; or a part that is wholly there.
pub(crate) fn likeness(typed: &str, name: &str) -> f64 {
    if typed.len() > MAX_COMPARED {
        return 0.0;
    }
    let fold = |text: &str| text.to_ascii_lowercase().replace('-', "_");
    let (typed, name) = (fold(typed), fold(name));
    let sorted = |text: &str| {
        let mut words: Vec<_> = text.split(['_', ':']).collect();
        words.sort_unstable();
        words.join("_")
    };
    let edits = strsim::normalized_damerau_levenshtein(&typed, &name);
    let reordered = strsim::normalized_damerau_levenshtein(&sorted(&typed), &sorted(&name)) * 0.95;
    let part = if typed.len() >= 3 && name.contains(&typed) { 0.7 } else { 0.0 };
    edits.max(reordered).max(part)
}

/// "; did you mean a, b or c?" of the names that are like a mistyped one, or
/// nothing. Names that are much longer or shorter are passed over.
pub fn did_you_mean<'a>(typed: &str, names: impl Iterator<Item = &'a str>) -> String {
    suggestion(&nearest(typed, names))
}

/// Up to three names that are like a mistyped one, best first. Names that are much longer or
/// shorter are passed over.
pub fn nearest<'a>(typed: &str, names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let (least, most) = (typed.len() / 2, typed.len().saturating_mul(2).max(8));
    let near = names.filter(|name| (least..=most).contains(&name.len()));
    best_three(near.map(|name| (likeness(typed, name), name)))
}

/// "; did you mean a, b or c?", or nothing.
pub(crate) fn suggestion(nearest: &[impl AsRef<str>]) -> String {
    let names: Vec<&str> = nearest.iter().map(AsRef::as_ref).collect();
    match &names[..] {
        [] => String::new(),
        [only] => format!("; did you mean {only}?"),
        [most @ .., last] => format!("; did you mean {} or {last}?", most.join(", ")),
    }
}
