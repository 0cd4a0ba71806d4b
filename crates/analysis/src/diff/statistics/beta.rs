//! The beta distribution: what a part of a whole may be.

/// Terms of the continued fraction at most. It takes some roots of the smaller
/// parameter; what it has not reached by then is nothing that a double holds.
const MOST_TERMS: u32 = 1_000_000;
/// Steps of a quantile at most: bisection alone needs some 1100, from 1 down to
/// the smallest double.
const MOST_STEPS: u32 = 1_200;
/// In place of 0 in a denominator.
const TINY: f64 = 1e-300;

/// A beta distribution; both parameters are above 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Beta {
    pub(crate) a: f64,
    pub(crate) b: f64,
}

/// A part of a whole, and the rest, each with all its digits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct BetaPart {
    pub(crate) part: f64,
    pub(crate) rest: f64,
}

impl BetaPart {
    pub(crate) fn new(part: f64) -> BetaPart {
        BetaPart { part, rest: 1.0 - part }
    }

    pub(crate) fn of(weight: f64, other: f64) -> BetaPart {
        let whole = weight + other;
        BetaPart { part: weight / whole, rest: other / whole }
    }

    fn swapped(self) -> BetaPart {
        BetaPart { part: self.rest, rest: self.part }
    }
}

impl Beta {
    fn swapped(self) -> Beta {
        Beta { a: self.b, b: self.a }
    }

    /// How likely it is at most so much: the regularised incomplete beta
    /// function.
    pub(crate) fn at_most(self, at: BetaPart) -> f64 {
        if at.part <= 0.0 {
            return 0.0;
        }
        if at.rest <= 0.0 {
            return 1.0;
        }
        // Where the fraction converges quickly: below the mean, about.
        if at.part < (self.a + 1.0) / (self.a + self.b + 2.0) {
            self.below(at)
        } else {
            1.0 - self.swapped().below(at.swapped())
        }
    }

    fn below(self, at: BetaPart) -> f64 {
        let front = self.log_front(at).exp() / self.a;
        (front * self.fraction(at.part)).clamp(0.0, 1.0)
    }

    /// Logarithm of x^a (1 - x)^b / B(a, b).
    fn log_front(self, at: BetaPart) -> f64 {
        let Beta { a, b } = self;
        // Of a part near 1 its rest has the digits.
        let log = |part: f64, rest: f64| if rest < 0.5 { (-rest).ln_1p() } else { part.ln() };
        libm::lgamma(a + b) - libm::lgamma(a) - libm::lgamma(b)
            + a * log(at.part, at.rest)
            + b * log(at.rest, at.part)
    }

    /// Its continued fraction (DLMF 8.17.22), by Lentz's method.
    fn fraction(self, x: f64) -> f64 {
        let Beta { a, b } = self;
        let kept = |value: f64| if value.abs() < TINY { TINY } else { value };
        let mut numerator = 1.0;
        let mut denominator = 1.0 / kept(1.0 - (a + b) * x / (a + 1.0));
        let mut value = denominator;
        for term in 1..MOST_TERMS {
            let m = f64::from(term);
            let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
            let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
            let mut change = 1.0;
            for coefficient in [even, odd] {
                denominator = 1.0 / kept(1.0 + coefficient * denominator);
                numerator = kept(1.0 + coefficient / numerator);
                change = denominator * numerator;
                value *= change;
            }
            if (change - 1.0).abs() < 1e-15 {
                break;
            }
        }
        value
    }

    /// What it is at most with such a likelihood, above 0 and below 1: Newton's
    /// steps within bounds that each step narrows.
    pub(crate) fn quantile(self, likelihood: f64) -> BetaPart {
        let Beta { a, b } = self;
        let (mut low, mut high) = (0.0_f64, 1.0_f64);
        let mut x = a / (a + b);
        for _ in 0..MOST_STEPS {
            let at = BetaPart::new(x);
            let over = self.at_most(at) - likelihood;
            if over > 0.0 {
                high = x;
            } else {
                low = x;
            }
            let density = self.log_front(at).exp() / (at.part * at.rest);
            let newton = x - over / density;
            let next = if newton > low && newton < high { newton } else { low.midpoint(high) };
            if (next - x).abs() <= f64::EPSILON * x || next == 0.0 {
                x = next;
                break;
            }
            x = next;
        }
        BetaPart::new(x)
    }
}
