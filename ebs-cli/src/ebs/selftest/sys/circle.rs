//! Nodes each of which holds the address of another, in no order that a
//! prefetcher could learn.

use super::Region;
use std::io;

/// Where a node holds the address of the next one, bytes from its start.
pub(in crate::ebs::selftest) const LINK: u64 = 8;

#[derive(Debug)]
pub(in crate::ebs::selftest) struct Circle {
    region: Region,
}

impl Circle {
    /// So many nodes, `stride` bytes apart, in an order that is the same in
    /// each run (Sattolo's way to one single circle).
    ///
    /// # Errors
    /// No room.
    pub(in crate::ebs::selftest) fn new(nodes: u64, stride: u64) -> io::Result<Circle> {
        let stride = stride.max(2 * LINK);
        let bytes = nodes.checked_mul(stride).and_then(|bytes| usize::try_from(bytes).ok());
        let mut region = Region::fresh(bytes.ok_or(io::ErrorKind::OutOfMemory)?)?;
        let mut order: Vec<u64> = (0..nodes).collect();
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        for place in (1..order.len()).rev() {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let other = (state >> 33) % place as u64;
            order.swap(place, usize::try_from(other).unwrap_or(0));
        }
        let start = region.start();
        let next = order.iter().cycle().skip(1);
        for (node, next) in order.iter().zip(next) {
            region.put(node * stride + LINK, start + next * stride);
        }
        Ok(Circle { region })
    }

    pub(in crate::ebs::selftest) fn first(&self) -> u64 {
        self.region.start()
    }

    pub(in crate::ebs::selftest) fn bytes(&self) -> u64 {
        self.region.bytes()
    }
}
