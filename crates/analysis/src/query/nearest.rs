//! What may have been meant by a word that is not known.

/// At most three of `known` that are near `word`, nearest first.
pub(crate) fn nearest<'w>(word: &str, known: impl Iterator<Item = &'w str>) -> Vec<&'w str> {
    let mut scored: Vec<(f64, &str)> = known
        .map(|candidate| (strsim::jaro_winkler(word, candidate), candidate))
        .filter(|(score, _)| *score > 0.75)
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    scored.into_iter().take(3).map(|(_, candidate)| candidate).collect()
}
