//! Orders that are tried, and the best of them.

use crate::layout::line_costs::{LineCosts, PartPlaces, as_f64};
use crate::layout::movable_part::{MovablePart, NoOrder, Pin};
use std::collections::BTreeMap;

/// Lines, of all, that an order must spare to be worth its while.
const LEAST: f64 = 0.005;

/// Parts that are put side by side, those with the most samples.
const MOST_CLUSTERED: usize = 64;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PartOrder {
    /// Parts, first to last.
    pub(crate) order: Vec<usize>,
    pub(crate) places: PartPlaces,
    /// Lines that all visits touch.
    pub(crate) lines: f64,
    /// Samples on parts in a line with what another thread writes.
    pub(crate) in_conflict: f64,
}

impl PartOrder {
    fn cost(&self) -> f64 {
        self.lines + self.in_conflict
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct OrderedParts<'p> {
    pub(crate) parts: &'p [MovablePart],
    /// Samples by part.
    pub(crate) samples: &'p [u64],
    /// What the structure is aligned to.
    pub(crate) align: u64,
    pub(crate) costs: &'p LineCosts,
}

impl OrderedParts<'_> {
    pub(crate) fn as_it_is(&self) -> PartOrder {
        let offsets = self.parts.iter().map(|part| part.start).collect();
        let places = PartPlaces { offsets, size: self.costs.size };
        self.judged((0..self.parts.len()).collect(), places)
    }

    /// The best of those that are tried, if it is better than what there is.
    pub(crate) fn better(&self) -> Result<PartOrder, NoOrder> {
        if self.samples.iter().all(|samples| *samples == 0) {
            return Err(NoOrder::Unplaced);
        }
        let now = self.as_it_is();
        let clusters = self.clusters();
        let mut tried = Vec::new();
        for by_align in [false, true] {
            for hot in [clusters.as_slice(), &[]] {
                let order = self.arranged(hot, by_align);
                for keeps_apart in [false, true] {
                    let places = self.packed(&order, keeps_apart);
                    tried.push(self.judged(order.clone(), places));
                }
            }
        }
        let best = tried.into_iter().min_by(|a, b| {
            let cost = a.cost().total_cmp(&b.cost());
            cost.then(a.places.size.cmp(&b.places.size))
        });
        let best = best.ok_or(NoOrder::None)?;
        let spared = now.cost() - best.cost();
        match spared > now.cost() * LEAST {
            true => Ok(best),
            false => Err(NoOrder::None),
        }
    }

    fn judged(&self, order: Vec<usize>, places: PartPlaces) -> PartOrder {
        let (lines, in_conflict) = (self.costs.lines(&places), self.costs.in_conflict(&places));
        PartOrder { order, places, lines, in_conflict }
    }

    /// Parts that are accessed together and fit into a line, most samples first;
    /// those that are to be apart from others behind.
    fn clusters(&self) -> Vec<Vec<usize>> {
        let is_hot = |part: &usize| {
            let own = &self.parts[*part];
            self.samples[*part] > 0 && own.pin == Pin::Free
        };
        let mut hot: Vec<usize> = (0..self.parts.len()).filter(is_hot).collect();
        hot.sort_by_key(|part| std::cmp::Reverse(self.samples[*part]));
        hot.truncate(MOST_CLUSTERED);
        let mut clusters: Vec<Vec<usize>> = hot.into_iter().map(|part| vec![part]).collect();
        let together = self.together();
        while let Some(Pair { a, b, .. }) = self.nearest(&clusters, &together) {
            let joined = clusters.remove(b);
            clusters[a].extend(joined);
        }
        for cluster in &mut clusters {
            cluster.sort_by_key(|part| (std::cmp::Reverse(self.parts[*part].align), *part));
        }
        let samples =
            |cluster: &Vec<usize>| cluster.iter().map(|part| self.samples[*part]).sum::<u64>();
        clusters
            .sort_by_key(|cluster| (self.is_written(cluster), std::cmp::Reverse(samples(cluster))));
        clusters
    }

    fn is_written(&self, cluster: &[usize]) -> bool {
        self.costs.conflicts.iter().any(|conflict| cluster.contains(&conflict.written))
    }

    /// Visits by the two parts that they touch both.
    fn together(&self) -> BTreeMap<[usize; 2], u64> {
        let mut together = BTreeMap::new();
        for (visit, count) in &self.costs.visits {
            let points = self.costs.points.iter().enumerate();
            let touched = points.filter(|(bit, _)| visit.points >> bit & 1 == 1);
            let mut parts: Vec<usize> =
                touched.filter_map(|(_, point)| Some(point.as_ref()?.part)).collect();
            parts.sort_unstable();
            parts.dedup();
            for (number, a) in parts.iter().enumerate() {
                for b in &parts[number + 1..] {
                    *together.entry([*a, *b]).or_default() += count;
                }
            }
        }
        together
    }

    fn nearest(
        &self,
        clusters: &[Vec<usize>],
        together: &BTreeMap<[usize; 2], u64>,
    ) -> Option<Pair> {
        let mut best: Option<Pair> = None;
        for b in 0..clusters.len() {
            for a in 0..b {
                let visits = clusters[a]
                    .iter()
                    .flat_map(|x| clusters[b].iter().map(move |y| [*x.min(y), *x.max(y)]));
                let visits: u64 = visits.filter_map(|pair| together.get(&pair)).sum();
                let length = self.length(&clusters[a]).saturating_add(self.length(&clusters[b]));
                let fits = length <= self.costs.line;
                let is_free = !self.conflict(&clusters[a], &clusters[b]);
                if visits > 0 && fits && is_free && best.is_none_or(|best| best.visits < visits) {
                    best = Some(Pair { a, b, visits });
                }
            }
        }
        best
    }

    fn length(&self, cluster: &[usize]) -> u64 {
        cluster.iter().map(|part| self.parts[*part].size).fold(0, u64::saturating_add)
    }

    fn conflict(&self, a: &[usize], b: &[usize]) -> bool {
        self.costs.conflicts.iter().any(|conflict| {
            let of = |x: &[usize], y: &[usize]| {
                x.contains(&conflict.written) && y.contains(&conflict.used)
            };
            of(a, b) || of(b, a)
        })
    }

    /// What is pinned to the front, clusters, the rest as it was or by alignment,
    /// clusters that others write, and what is pinned to the end.
    fn arranged(&self, clusters: &[Vec<usize>], by_align: bool) -> Vec<usize> {
        let pinned = |pin: Pin| {
            let all = 0..self.parts.len();
            all.filter(move |part| self.parts[*part].pin == pin)
        };
        let (front, behind): (Vec<&Vec<usize>>, Vec<&Vec<usize>>) =
            clusters.iter().partition(|cluster| !self.is_written(cluster));
        let mut rest: Vec<usize> = pinned(Pin::Free)
            .filter(|part| !clusters.iter().any(|cluster| cluster.contains(part)))
            .collect();
        if by_align {
            rest.sort_by_key(|part| std::cmp::Reverse(self.parts[*part].align));
        }
        let mut order: Vec<usize> = pinned(Pin::First).collect();
        order.extend(front.into_iter().flatten());
        order.extend(rest);
        order.extend(behind.into_iter().flatten());
        order.extend(pinned(Pin::Last));
        order
    }

    /// One behind the other, each as it is aligned; if so, what another thread writes
    /// in a line of its own.
    fn packed(&self, order: &[usize], keeps_apart: bool) -> PartPlaces {
        let mut offsets = vec![0; self.parts.len()];
        let (mut end, mut align): (u64, u64) = (0, self.align.max(1));
        let mut is_apart = !keeps_apart;
        for part in order {
            let MovablePart { size, align: own, .. } = self.parts[*part];
            let own = match !is_apart && self.is_written(&[*part]) {
                true => {
                    is_apart = true;
                    align = align.max(self.costs.line);
                    own.max(self.costs.line)
                }
                false => own,
            };
            let start = end.checked_next_multiple_of(own).unwrap_or(end);
            offsets[*part] = start;
            end = start.saturating_add(size);
        }
        PartPlaces { offsets, size: end.checked_next_multiple_of(align).unwrap_or(end) }
    }

    /// Samples for which another order is expected, where each stands for a line.
    pub(crate) fn expected(&self, samples: u64, order: &PartOrder) -> f64 {
        let now = self.as_it_is();
        match now.lines > 0.0 {
            true => as_f64(samples) * order.lines / now.lines,
            false => as_f64(samples),
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Pair {
    a: usize,
    b: usize,
    visits: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::line_costs::{PartConflict, PartPoint};
    use crate::layout::object_visits::Visit;

    fn parts(sizes: &[u64]) -> Vec<MovablePart> {
        let mut start: u64 = 0;
        let place = |size: &u64| {
            let align = if *size <= 8 { *size } else { 1 };
            start = start.next_multiple_of(align);
            let members = Vec::new();
            let part = MovablePart { members, start, size: *size, align, pin: Pin::Free };
            start += size;
            part
        };
        sizes.iter().map(place).collect()
    }

    fn costs(parts: &[MovablePart], visits: &[(u128, u64)]) -> LineCosts {
        let point = |part| Some(PartPoint { part, within: 0, bytes: 1 });
        let end = parts.last().map_or(0, |part| part.start + part.size);
        let counted =
            |(points, count): &(u128, u64)| (Visit { points: *points, phase: Some(0) }, *count);
        LineCosts {
            points: (0..parts.len()).map(point).collect(),
            visits: visits.iter().map(counted).collect(),
            conflicts: Vec::new(),
            size: end.next_multiple_of(8),
            line: 64,
        }
    }

    #[test]
    fn what_is_missed_together_lies_together() {
        // first, name, second, comment.
        let parts = parts(&[8, 120, 8, 56]);
        let costs = costs(&parts, &[(0b101, 1000), (0b10, 5)]);
        let samples = [1000, 5, 1000, 0];
        let ordered = OrderedParts { parts: &parts, samples: &samples, align: 8, costs: &costs };
        let better = ordered.better().unwrap();
        assert_eq!(better.order, [0, 2, 1, 3]);
        assert_eq!(better.places, PartPlaces { offsets: vec![0, 16, 8, 136], size: 192 });
        assert_eq!((ordered.as_it_is().lines, better.lines), (2005.0, 1005.0));
        let expected = ordered.expected(2005, &better);
        assert!((expected - 1005.0).abs() < 1e-6, "{expected}");
    }

    #[test]
    fn holes_are_closed_where_that_spares_lines() {
        // Numbers of 1 and 8 bytes in turn: 80 bytes, of which 40 are lost.
        let parts = parts(&[1, 8, 1, 8, 1, 8, 1, 8, 1, 8]);
        let costs = costs(&parts, &[(0x3ff, 100)]);
        let samples = [100; 10];
        let ordered = OrderedParts { parts: &parts, samples: &samples, align: 8, costs: &costs };
        let better = ordered.better().unwrap();
        assert_eq!(better.places.size, 48);
        assert!(better.lines < ordered.as_it_is().lines);
    }

    #[test]
    fn what_others_write_has_a_line_of_its_own() {
        let parts = parts(&[8, 48, 8]);
        let conflicts = vec![PartConflict { written: 2, used: 0, samples: 500 }];
        let costs = LineCosts { conflicts, ..costs(&parts, &[(0b1, 500), (0b100, 500)]) };
        let samples = [500, 0, 500];
        let ordered = OrderedParts { parts: &parts, samples: &samples, align: 8, costs: &costs };
        let better = ordered.better().unwrap();
        assert_eq!(better.places, PartPlaces { offsets: vec![0, 8, 64], size: 128 });
        assert_eq!((ordered.as_it_is().in_conflict, better.in_conflict), (500.0, 0.0));
    }

    #[test]
    fn what_is_good_stays() {
        let parts = parts(&[8, 8, 48]);
        let costs = costs(&parts, &[(0b11, 10)]);
        let ordered = |samples| OrderedParts { parts: &parts, samples, align: 8, costs: &costs };
        assert_eq!(ordered(&[10, 10, 0]).better(), Err(NoOrder::None));
        assert_eq!(ordered(&[0, 0, 0]).better(), Err(NoOrder::Unplaced));
    }

    #[test]
    fn what_is_pinned_stays_at_its_end() {
        let mut parts = parts(&[8, 128, 8, 56]);
        (parts[1].pin, parts[2].pin) = (Pin::First, Pin::Last);
        let costs = costs(&parts, &[(0b1001, 1000)]);
        let samples = [1000, 0, 0, 1000];
        let ordered = OrderedParts { parts: &parts, samples: &samples, align: 8, costs: &costs };
        let order = ordered.better().unwrap().order;
        assert_eq!((order[0], order[3]), (1, 2), "{order:?}");
    }
}
