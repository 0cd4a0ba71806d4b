//! In which order rows stand.

use crate::seen_rows::SeenRow;
use std::cmp::Ordering;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ViewOrder {
    #[default]
    Now,
    Total,
    Latency,
    Name,
}

impl ViewOrder {
    pub fn title(self) -> &'static str {
        match self {
            ViewOrder::Now => "now",
            ViewOrder::Total => "total",
            ViewOrder::Latency => "latency",
            ViewOrder::Name => "name",
        }
    }

    pub(crate) fn next(self) -> ViewOrder {
        match self {
            ViewOrder::Now => ViewOrder::Total,
            ViewOrder::Total => ViewOrder::Latency,
            ViewOrder::Latency => ViewOrder::Name,
            ViewOrder::Name => ViewOrder::Now,
        }
    }

    /// Which of two comes first; ties go by the total, then by the name.
    fn compare(self, a: &SeenRow, b: &SeenRow) -> Ordering {
        let own = match self {
            ViewOrder::Now => b.now_weight.cmp(&a.now_weight),
            ViewOrder::Total => Ordering::Equal,
            ViewOrder::Latency => {
                let mean = |row: &SeenRow| row.count.mean().unwrap_or(-1.0);
                mean(b).total_cmp(&mean(a))
            }
            ViewOrder::Name => a.name.cmp(&b.name),
        };
        let total = || b.weight.cmp(&a.weight);
        own.then_with(total).then_with(|| (&a.name, &a.thread).cmp(&(&b.name, &b.thread)))
    }

    pub(crate) fn sort(self, rows: &mut [SeenRow], reversed: bool) {
        rows.sort_by(|a, b| match reversed {
            true => self.compare(b, a),
            false => self.compare(a, b),
        });
    }
}
