//! Shares.

/// `part` of `whole`, 0 of nothing.
#[allow(clippy::cast_precision_loss, reason = "a share needs no more than 53 bits")]
pub(crate) fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}
