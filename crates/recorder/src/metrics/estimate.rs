//! A value, and between which bounds the truth lies.

use std::fmt;
use std::ops::{Add, Div, Mul, Sub};

/// A number that is known as well as its bounds say: exact where they meet.
/// Arithmetic is that of intervals: wherever the parts are within theirs, the
/// result is within its own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    pub value: f64,
    /// The truth is not below, where it comes of a counter that was shared as
    /// often as docs/stat.md says.
    pub low: f64,
    /// Nor above.
    pub high: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NotCounted {
    /// The event never was on a counter, or not opened at all.
    Never,
    /// A division by zero.
    Undefined,
}

impl fmt::Display for NotCounted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            NotCounted::Never => "not counted",
            NotCounted::Undefined => "undefined",
        })
    }
}

pub type Figure = Result<Estimate, NotCounted>;

impl Estimate {
    pub fn exact(value: f64) -> Estimate {
        Estimate { value, low: value, high: value }
    }

    pub fn is_exact(&self) -> bool {
        self.low == self.high
    }

    /// The least interval that has all of these numbers in it; infinite where
    /// one of them is none (zero times infinity).
    fn around(value: f64, ends: [f64; 4]) -> Estimate {
        if ends.iter().any(|end| end.is_nan()) {
            return Estimate { value, low: f64::NEG_INFINITY, high: f64::INFINITY };
        }
        let low = ends.into_iter().fold(value, f64::min);
        Estimate { value, low, high: ends.into_iter().fold(value, f64::max) }
    }

    /// The quotient; None: by zero.
    fn divided_by(self, other: Estimate) -> Option<Estimate> {
        if other.value == 0.0 {
            return None;
        }
        let value = self.value / other.value;
        if self.is_exact() && other.is_exact() {
            return Some(Estimate::exact(value));
        }
        if other.low <= 0.0 && other.high >= 0.0 {
            return Some(Estimate { value, low: f64::NEG_INFINITY, high: f64::INFINITY });
        }
        let ends = [
            self.low / other.low,
            self.low / other.high,
            self.high / other.low,
            self.high / other.high,
        ];
        Some(Estimate::around(value, ends))
    }
}

impl Add for Estimate {
    type Output = Estimate;

    fn add(self, other: Estimate) -> Estimate {
        let (value, low) = (self.value + other.value, self.low + other.low);
        Estimate { value, low, high: self.high + other.high }
    }
}

impl Sub for Estimate {
    type Output = Estimate;

    fn sub(self, other: Estimate) -> Estimate {
        let (value, low) = (self.value - other.value, self.low - other.high);
        Estimate { value, low, high: self.high - other.low }
    }
}

impl Mul for Estimate {
    type Output = Estimate;

    fn mul(self, other: Estimate) -> Estimate {
        let value = self.value * other.value;
        if self.is_exact() && other.is_exact() {
            return Estimate::exact(value);
        }
        let ends = [
            self.low * other.low,
            self.low * other.high,
            self.high * other.low,
            self.high * other.high,
        ];
        Estimate::around(value, ends)
    }
}

impl Div for Estimate {
    type Output = Figure;

    fn div(self, other: Estimate) -> Figure {
        self.divided_by(other).ok_or(NotCounted::Undefined)
    }
}
