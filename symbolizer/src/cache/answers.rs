//! Why there is less than debug info, as text and back.

use crate::frames::{Depth, Frames, NoDebug};
use std::sync::Arc;

/// The file's name is left out: it may lie elsewhere when it is asked next.
pub(super) fn encode(depth: &Depth) -> Option<String> {
    let (kind, why) = match depth {
        Depth::Debug => return None,
        Depth::Lines(why) => ('l', why),
        Depth::Symbols(why) => ('s', why),
    };
    Some(match why {
        NoDebug::Absent { build, .. } => format!("{kind}a{build}"),
        NoDebug::Damaged { why, .. } => format!("{kind}d{why}"),
        NoDebug::NotCovered { .. } => format!("{kind}n"),
        NoDebug::Never { .. } => format!("{kind}v"),
    })
}

pub(super) fn decode(text: &str, file: &Arc<str>) -> Result<Depth, String> {
    let wrong = || format!("`{}` is no reason", text.chars().take(40).collect::<String>());
    let mut letters = text.chars();
    let (kind, why) = (letters.next(), letters.next());
    let (file, rest) = (Arc::clone(file), letters.as_str());
    let why = match why.ok_or_else(wrong)? {
        'a' => NoDebug::Absent { file, build: rest.into() },
        'd' => NoDebug::Damaged { file, why: rest.into() },
        'n' => NoDebug::NotCovered { file },
        'v' => NoDebug::Never { object: file },
        _ => return Err(wrong()),
    };
    match kind {
        Some('l') => Ok(Depth::Lines(why)),
        Some('s') => Ok(Depth::Symbols(why)),
        _ => Err(wrong()),
    }
}

/// Before the first stretch nothing is known.
pub(super) fn nothing(file: &Arc<str>) -> Frames {
    let why = NoDebug::NotCovered { file: Arc::clone(file) };
    Frames { frames: Arc::new([]), depth: Depth::Symbols(why) }
}
