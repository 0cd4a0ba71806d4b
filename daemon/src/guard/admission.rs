//! Who holds how much: connections, sessions and bytes, of each user and in
//! all. A pure account; what a worker held is free once it has ended.

use std::collections::BTreeMap;

use super::{LimitReached, Limits};

/// The least that is set aside, bytes.
const MIN_RESERVATION: u64 = 64 * 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Holder {
    /// Its process.
    pub(crate) worker: i32,
    /// Its user; None: the daemon itself, whose standing sessions count in
    /// the sums of all and against no user's limits.
    pub(crate) uid: Option<u32>,
}

#[derive(Clone, Copy, Debug)]
struct Held {
    holder: Holder,
    bytes: u64,
    session: bool,
    /// Bytes of it that maps of programs were made of.
    drawn: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Admission {
    reserved: BTreeMap<u64, Held>,
    connections: Vec<Holder>,
    next: u64,
}

impl Admission {
    pub(crate) fn may_connect(&self, uid: u32, limits: &Limits) -> Result<(), LimitReached> {
        let of_user = self.connections.iter().filter(|holder| holder.uid == Some(uid));
        if of_user.count() as u64 >= limits.connections_per_user.into() {
            let limit = limits.connections_per_user.into();
            return Err(LimitReached::UserConnections { uid, limit });
        }
        // The superuser can always connect, and see what others do.
        if uid != 0 && self.connections.len() as u64 >= limits.connections.into() {
            return Err(LimitReached::Connections { limit: limits.connections.into() });
        }
        Ok(())
    }

    pub(crate) fn connected(&mut self, holder: Holder) {
        self.connections.push(holder);
    }

    pub(crate) fn closed(&mut self, holder: Holder) {
        if let Some(at) = self.connections.iter().position(|open| *open == holder) {
            self.connections.swap_remove(at);
        }
    }

    /// Gives a worker so many bytes, for a session or for a client of one;
    /// the number is that of the reservation.
    pub(crate) fn reserve(
        &mut self,
        holder: Holder,
        bytes: u64,
        session: bool,
        limits: &Limits,
    ) -> Result<u64, LimitReached> {
        // What takes nothing could be had without end, and each is a line of
        // the account.
        let bytes = bytes.max(MIN_RESERVATION);
        if holder.uid.is_some() {
            let own = || self.reserved.values().filter(|held| held.holder.uid == holder.uid);
            let sessions = own().filter(|held| held.session).count() as u64;
            let limit = limits.sessions_per_user.into();
            if session && sessions >= limit {
                return Err(LimitReached::UserSessions { limit });
            }
            let limit = limits.memory_per_user.0;
            let free = limit.saturating_sub(own().map(|held| held.bytes).sum());
            if bytes > free {
                return Err(LimitReached::UserMemory { wanted: bytes, free, limit });
            }
        }
        let limit = limits.memory.0;
        let free = limit.saturating_sub(self.bytes());
        if bytes > free {
            return Err(LimitReached::Memory { wanted: bytes, free, limit });
        }
        self.next += 1;
        self.reserved.insert(self.next, Held { holder, bytes, session, drawn: 0 });
        Ok(self.next)
    }

    /// Takes bytes out of a reservation of this worker's own, for good; false:
    /// it has not as many left.
    pub(crate) fn draw(&mut self, holder: Holder, reservation: u64, bytes: u64) -> bool {
        let held =
            self.reserved.get_mut(&reservation).filter(|held| held.holder.worker == holder.worker);
        let Some(held) = held else { return false };
        let fits = bytes <= held.bytes.saturating_sub(held.drawn);
        held.drawn += if fits { bytes } else { 0 };
        fits
    }

    pub(crate) fn free(&mut self, holder: Holder, reservation: u64) {
        if self.reserved.get(&reservation).is_some_and(|held| held.holder.worker == holder.worker) {
            self.reserved.remove(&reservation);
        }
    }

    pub(crate) fn forget(&mut self, worker: i32) {
        self.reserved.retain(|_, held| held.holder.worker != worker);
        self.connections.retain(|holder| holder.worker != worker);
    }

    fn bytes(&self) -> u64 {
        // Each was at most what was left.
        self.reserved.values().map(|held| held.bytes).sum()
    }

    #[cfg(test)]
    fn sessions(&self) -> usize {
        self.reserved.values().filter(|held| held.session).count()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::guard::Size;

    const MIB: u64 = 1 << 20;

    fn limits() -> Limits {
        Limits {
            connections_per_user: 2,
            connections: 3,
            sessions_per_user: 2,
            memory_per_user: Size(10 * MIB),
            memory: Size(16 * MIB),
            ..Limits::default()
        }
    }

    fn holder(worker: i32, uid: u32) -> Holder {
        Holder { worker, uid: Some(uid) }
    }

    #[test]
    fn maps_are_made_of_what_their_own_worker_has_set_aside() {
        let (mut all, limits) = (Admission::default(), limits());
        let (one, other) = (holder(1, 7), holder(2, 7));
        let number = all.reserve(one, 4 * MIB, true, &limits).unwrap();
        assert!(!all.draw(other, number, 1), "of another worker, if of the same user");
        assert!(!all.draw(one, number + 1, 1));
        assert!(!all.draw(one, number, 4 * MIB + 1));
        assert!(all.draw(one, number, 3 * MIB) && !all.draw(one, number, 2 * MIB));
        assert!(all.draw(one, number, MIB) && !all.draw(one, number, 1));
        all.free(one, number);
        assert!(!all.draw(one, number, 0), "there is none any more");
    }

    #[test]
    fn a_user_has_one_account_for_all_their_workers() {
        let (mut all, limits) = (Admission::default(), limits());
        let (one, other) = (holder(1, 7), holder(2, 7));
        let first = all.reserve(one, 6 * MIB, true, &limits).unwrap();
        let refused = all.reserve(other, 5 * MIB, true, &limits).unwrap_err();
        let (wanted, free, limit) = (5 * MIB, 4 * MIB, 10 * MIB);
        assert_eq!(refused, LimitReached::UserMemory { wanted, free, limit });
        all.reserve(other, MIB, true, &limits).unwrap();
        let third = all.reserve(other, MIB, true, &limits);
        assert_eq!(third, Err(LimitReached::UserSessions { limit: 2 }));
        all.reserve(other, MIB, false, &limits).unwrap();
        all.free(other, first);
        assert_eq!(all.sessions(), 2, "only who holds it frees it");
        all.free(one, first);
        all.reserve(one, 8 * MIB, true, &limits).unwrap();
        all.forget(2);
        assert_eq!((all.bytes(), all.sessions()), (8 * MIB, 1));
    }

    #[test]
    fn all_together_have_a_limit_that_standing_sessions_count_in() {
        let (mut all, limits) = (Admission::default(), limits());
        let standing = Holder { worker: 9, uid: None };
        for _ in 0..3 {
            all.reserve(standing, 4 * MIB, true, &limits).unwrap();
        }
        let refused = all.reserve(holder(1, 7), 5 * MIB, true, &limits).unwrap_err();
        let (wanted, free, limit) = (5 * MIB, 4 * MIB, 16 * MIB);
        assert_eq!(refused, LimitReached::Memory { wanted, free, limit });
        let most = all.reserve(holder(1, 7), u64::MAX, true, &limits).unwrap_err();
        assert_eq!(most.free(), Some(10 * MIB));
    }

    #[test]
    fn what_a_recorder_holds_for_a_reader_is_that_users() {
        let (mut all, limits) = (Admission::default(), limits());
        let recorder = Holder { worker: 9, uid: None };
        let reader = Holder { uid: Some(7), ..recorder };
        let queue = all.reserve(reader, 8 * MIB, false, &limits).unwrap();
        let refused = all.reserve(holder(1, 7), 4 * MIB, true, &limits).unwrap_err();
        let (wanted, free, limit) = (4 * MIB, 2 * MIB, 10 * MIB);
        assert_eq!(refused, LimitReached::UserMemory { wanted, free, limit });
        all.reserve(holder(2, 8), 4 * MIB, true, &limits).unwrap();
        all.free(holder(1, 7), queue);
        assert_eq!(all.bytes(), 12 * MIB, "the user's own worker does not free it");
        all.free(recorder, queue);
        assert_eq!(all.bytes(), 4 * MIB);
        all.reserve(reader, 8 * MIB, false, &limits).unwrap();
        all.forget(9);
        assert_eq!(all.bytes(), 4 * MIB);
    }

    #[test]
    fn the_superuser_connects_whoever_else_does() {
        let (mut all, limits) = (Admission::default(), limits());
        for uid in 1..=3 {
            all.connected(holder(uid, uid.cast_unsigned()));
        }
        assert_eq!(all.may_connect(8, &limits), Err(LimitReached::Connections { limit: 3 }));
        all.may_connect(0, &limits).unwrap();
        all.connected(holder(5, 0));
        all.connected(holder(5, 0));
        let own = LimitReached::UserConnections { uid: 0, limit: 2 };
        assert_eq!(all.may_connect(0, &limits), Err(own), "but within a limit of its own");
    }

    #[test]
    fn reservations_of_nothing_run_out_too() {
        let (mut all, limits) = (Admission::default(), limits());
        let given = (0..1000).filter(|_| all.reserve(holder(1, 7), 0, false, &limits).is_ok());
        assert_eq!(given.count() as u64, limits.memory_per_user.0 / MIN_RESERVATION);
    }

    #[test]
    fn connections_are_counted_until_they_end_or_their_worker_does() {
        let (mut all, limits) = (Admission::default(), limits());
        all.connected(holder(1, 7));
        all.connected(holder(2, 7));
        assert_eq!(
            all.may_connect(7, &limits),
            Err(LimitReached::UserConnections { uid: 7, limit: 2 })
        );
        all.connected(holder(3, 8));
        assert_eq!(all.may_connect(8, &limits), Err(LimitReached::Connections { limit: 3 }));
        all.closed(holder(3, 8));
        all.closed(holder(3, 8));
        assert_eq!(all.may_connect(8, &limits), Ok(()), "closed once, however often told");
        all.forget(1);
        assert_eq!(all.may_connect(7, &limits), Ok(()));
        assert_eq!(all.connections.len(), 1);
    }

    proptest! {
        #[test]
        fn no_order_of_requests_goes_beyond_a_limit(
            asks in prop::collection::vec((0i32..4, 0u64..8 * MIB, any::<bool>(), any::<bool>()), 0..60)
        ) {
            let (mut all, limits) = (Admission::default(), limits());
            let mut given = Vec::new();
            for (worker, bytes, session, frees) in asks {
                let holder = holder(worker, worker.cast_unsigned() / 2);
                if frees {
                    if let Some((holder, number)) = given.pop() {
                        all.free(holder, number);
                    }
                } else if let Ok(number) = all.reserve(holder, bytes, session, &limits) {
                    given.push((holder, number));
                }
                prop_assert!(all.bytes() <= limits.memory.0);
                for uid in 0..2 {
                    let own = all.reserved.values().filter(|held| held.holder.uid == Some(uid));
                    let (bytes, sessions) = own.fold((0, 0), |(bytes, sessions), held| {
                        (bytes + held.bytes, sessions + u32::from(held.session))
                    });
                    prop_assert!(bytes <= limits.memory_per_user.0);
                    prop_assert!(sessions <= limits.sessions_per_user);
                }
            }
            for (holder, number) in given {
                all.free(holder, number);
            }
            prop_assert_eq!((all.bytes(), all.sessions()), (0, 0));
        }
    }
}
