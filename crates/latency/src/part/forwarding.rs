//! Loads of what was stored just before.

use crate::figure::LatencyFigure;
use crate::meter::Meter;
use crate::sys::{Forwarding, forward};
use serde::Serialize;

/// One store and one load of it, each waiting for the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct ForwardingStudy {
    /// Eight bytes, and the same eight.
    pub same: LatencyFigure,
    /// Eight bytes, of which the upper four are loaded.
    pub part: LatencyFigure,
    /// Two stores of four bytes and a load of both, which has to wait until
    /// they are in the cache on most cores.
    pub joined: LatencyFigure,
    /// Eight bytes that are on two lines.
    pub across_lines: LatencyFigure,
}

pub(crate) fn study(meter: &mut Meter<'_>) -> ForwardingStudy {
    let mut of = |forwarding| {
        meter.figure(|pairs| {
            forward(forwarding, pairs);
            pairs
        })
    };
    ForwardingStudy {
        same: of(Forwarding::Same),
        part: of(Forwarding::Part),
        joined: of(Forwarding::Joined),
        across_lines: of(Forwarding::Across),
    }
}
