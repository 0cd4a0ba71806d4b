//! The two clocks of a recording, and which boot they are of.

use std::fmt;
use std::io;

use perfdata::segment::SegmentHeader;
use rustix::time::{ClockId, clock_gettime};

pub(crate) trait Clock: fmt::Debug + Send + Sync {
    /// CLOCK_MONOTONIC, nanoseconds.
    fn monotonic(&self) -> u64;

    /// CLOCK_REALTIME, nanoseconds since 1970.
    fn realtime(&self) -> u64;

    /// Which boot it is, whose monotonic times compare.
    fn boot(&self) -> [u8; 16];

    /// What a monotonic time has to be given to be a realtime.
    fn offset(&self) -> i64 {
        self.realtime().cast_signed().wrapping_sub(self.monotonic().cast_signed())
    }

    /// How long ago a time of a segment was, nanoseconds: by the monotonic
    /// clock if this is still its boot, whatever was done to the other one.
    fn age(&self, header: &SegmentHeader, time: u64) -> u64 {
        if self.boot() == header.boot {
            return self.monotonic().saturating_sub(time);
        }
        self.realtime().saturating_sub(time.saturating_add_signed(header.realtime_offset))
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct SystemClock {
    boot: [u8; 16],
}

impl SystemClock {
    pub(crate) fn new() -> io::Result<SystemClock> {
        // 16 bytes in hexadecimal, with dashes.
        let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id")?;
        let digits: String = text.chars().filter(char::is_ascii_hexdigit).collect();
        let boot = u128::from_str_radix(&digits, 16).map_err(io::Error::other)?;
        Ok(SystemClock { boot: boot.to_be_bytes() })
    }
}

fn now(clock: ClockId) -> u64 {
    let now = clock_gettime(clock);
    let seconds = u64::try_from(now.tv_sec).unwrap_or(0);
    seconds.saturating_mul(1_000_000_000).saturating_add(u64::try_from(now.tv_nsec).unwrap_or(0))
}

impl Clock for SystemClock {
    fn monotonic(&self) -> u64 {
        now(ClockId::Monotonic)
    }

    fn realtime(&self) -> u64 {
        now(ClockId::Realtime)
    }

    fn boot(&self) -> [u8; 16] {
        self.boot
    }
}
