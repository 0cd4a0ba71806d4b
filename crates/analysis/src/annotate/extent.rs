//! What of a routine is shown.

use std::ops::Range;

/// A gap of fewer instructions is no shorter than the line that tells of it.
const LEAST_GAP: usize = 3;

/// The stretches of `count` instructions that are shown: those at the indices
/// in `hot`, ascending, and so many on each side. All without a context, none
/// beyond the first few of a routine without hot ones.
pub(super) fn shown(count: usize, hot: &[usize], context: Option<usize>) -> Vec<Range<usize>> {
    let Some(context) = context else { return std::iter::once(0..count).collect() };
    // How the routine begins is always shown.
    let begin = 0..context.saturating_add(1).min(count);
    let around = hot.iter().map(|index| {
        index.saturating_sub(context)..index.saturating_add(context).saturating_add(1).min(count)
    });
    let mut stretches: Vec<Range<usize>> = Vec::new();
    for stretch in std::iter::once(begin).chain(around).filter(|stretch| !stretch.is_empty()) {
        match stretches.last_mut() {
            Some(last) if stretch.start < last.end + LEAST_GAP => {
                last.end = last.end.max(stretch.end);
            }
            _ => stretches.push(stretch),
        }
    }
    if let Some(last) = stretches.last_mut()
        && count - last.end < LEAST_GAP
    {
        last.end = count;
    }
    stretches
}

#[cfg(test)]
mod tests {
    use super::shown;

    fn of(count: usize, hot: &[usize], context: Option<usize>) -> Vec<(usize, usize)> {
        shown(count, hot, context).into_iter().map(|it| (it.start, it.end)).collect()
    }

    #[test]
    fn what_has_no_samples_is_folded() {
        assert_eq!(of(10, &[], None), [(0, 10)]);
        assert_eq!(of(100, &[], Some(2)), [(0, 3)]);
        assert_eq!(of(100, &[50], Some(2)), [(0, 3), (48, 53)]);
        assert_eq!(of(100, &[7, 50, 97], Some(2)), [(0, 10), (48, 53), (95, 100)]);
        assert_eq!(of(5, &[2], Some(0)), [(0, 5)]);
        assert_eq!(of(0, &[], Some(2)), []);
        assert_eq!(of(3, &[2], Some(usize::MAX)), [(0, 3)]);
    }
}
