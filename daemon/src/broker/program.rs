//! A program to be loaded: what a worker asks the supervisor for.

use arrayvec::{ArrayString, ArrayVec};
use perfdata::{Pid, Tid};
use recorder::in_kernel::{InKernel, KernelProgram, ProgramTask, SampleConditions, SampleContents};
use serde::{Deserialize, Serialize};

// What the supervisor hands back goes in one message.
const _: () = assert!(KernelProgram::MAX_DESCRIPTORS <= crate::channel::MAX_FDS);

/// A program for the kernel, of bounded size: numbers and short texts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct WireProgram {
    duty: ProgramTask,
    contents: SampleContents,
    // As `SampleConditions` has them.
    pids: ArrayVec<i32, { SampleConditions::MAX_IDS }>,
    tids: ArrayVec<i32, { SampleConditions::MAX_IDS }>,
    cgroup: Option<u64>,
    comm: Option<ArrayString<{ SampleConditions::MAX_COMM }>>,
    ip: Option<(u64, u64)>,
    address: Option<(u64, u64)>,
    one_in: u64,
    least_weight: u64,
    data_src: Option<(u64, u64)>,
    user_only: bool,
}

impl WireProgram {
    /// A program for events that show this; None: no program is like that
    /// ([`SampleConditions::check`]).
    pub(crate) fn of(in_kernel: &InKernel, contents: SampleContents) -> Option<WireProgram> {
        let InKernel { duty, keep } = in_kernel;
        is_possible(in_kernel).then_some(())?;
        let comm = keep.comm.as_deref().map(ArrayString::from).transpose().ok()?;
        Some(WireProgram {
            duty: *duty,
            contents,
            pids: keep.pids.iter().map(|pid| pid.0).collect(),
            tids: keep.tids.iter().map(|tid| tid.0).collect(),
            cgroup: keep.cgroup,
            comm,
            ip: keep.ip,
            address: keep.address,
            one_in: keep.one_in,
            least_weight: keep.least_weight,
            data_src: keep.data_src,
            user_only: keep.user_only,
        })
    }

    /// What is asked for; None: no program is like that.
    pub(crate) fn program(&self) -> Option<(InKernel, SampleContents)> {
        let keep = SampleConditions {
            pids: self.pids.iter().copied().map(Pid).collect(),
            tids: self.tids.iter().copied().map(Tid).collect(),
            cgroup: self.cgroup,
            comm: self.comm.map(|comm| comm.to_string()),
            ip: self.ip,
            address: self.address,
            one_in: self.one_in,
            least_weight: self.least_weight,
            data_src: self.data_src,
            user_only: self.user_only,
        };
        let in_kernel = InKernel { duty: self.duty, keep };
        is_possible(&in_kernel).then_some((in_kernel, self.contents))
    }
}

fn is_possible(in_kernel: &InKernel) -> bool {
    let has_room = !matches!(in_kernel.duty, ProgramTask::Aggregate(tables) if tables.sites == 0);
    has_room && in_kernel.keep.check().is_ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use recorder::in_kernel::SiteTables;

    use super::*;
    use crate::broker::BrokerRequest;
    use crate::channel::{MAX_MESSAGE, decode, encode, passed};

    fn keeps() -> impl Strategy<Value = SampleConditions> {
        let range = (any::<u64>(), any::<u64>()).prop_map(|(a, b)| (a.min(b), a.max(b)));
        let ids = prop::collection::vec(1..=i32::MAX, 0..=SampleConditions::MAX_IDS);
        let data_src = (1..=u64::MAX, any::<u64>()).prop_map(|(mask, value)| (mask, value & mask));
        (
            (ids.clone(), ids, prop::option::of(1..=u64::MAX)),
            (prop::option::of("[a-z\u{e9} ]{1,7}"), prop::option::of(range.clone())),
            (prop::option::of(range), 1..=u64::MAX, any::<u64>()),
            (prop::option::of(data_src), any::<bool>()),
        )
            .prop_map(
                |((pids, tids, cgroup), (comm, ip), (address, one_in, least_weight), rest)| {
                    let (data_src, user_only) = rest;
                    let pids = pids.into_iter().map(Pid).collect();
                    let tids = tids.into_iter().map(Tid).collect();
                    SampleConditions {
                        pids,
                        tids,
                        cgroup,
                        comm,
                        ip,
                        address,
                        one_in,
                        least_weight,
                        data_src,
                        user_only,
                    }
                },
            )
    }

    proptest! {
        #[test]
        fn programs_come_out_as_they_went_in(
            keep in keeps(),
            counts in prop::option::of((1..=u32::MAX, any::<[bool; 3]>())),
            (address, weight, data_src) in any::<(bool, bool, bool)>(),
        ) {
            let duty = counts.map_or(ProgramTask::Filter, |(sites, [by_process, strides, callers])| {
                ProgramTask::Aggregate(SiteTables { sites, by_process, strides, callers })
            });
            let (in_kernel, contents) = (InKernel { duty, keep }, SampleContents { address, weight, data_src });
            let program = WireProgram::of(&in_kernel, contents).unwrap();
            let request = BrokerRequest::Program { reservation: u64::MAX, program: Box::new(program) };
            prop_assert_eq!(passed(&request), Some(request.clone()));
            let BrokerRequest::Program { program, .. } = request else { unreachable!() };
            prop_assert_eq!(program.program(), Some((in_kernel, contents)));
        }

        #[test]
        fn any_bytes_are_a_program_that_can_be_or_none(
            mut bytes in prop::collection::vec(prop_oneof![Just(0u8), 0..4u8, any::<u8>()], 20..120),
        ) {
            let empty = WireProgram::of(&InKernel::aggregate(), SampleContents::default()).unwrap();
            let request = BrokerRequest::Program { reservation: 0, program: Box::new(empty) };
            bytes[0] = encode(&request, &mut [0; MAX_MESSAGE]).unwrap()[0];
            for packet in (0..=bytes.len()).map(|end| &bytes[..end]) {
                if let Some(BrokerRequest::Program { program, .. }) = decode(packet)
                    && let Some((in_kernel, _)) = program.program()
                {
                    prop_assert!(in_kernel.keep.check().is_ok());
                }
            }
        }
    }

    #[test]
    fn the_largest_program_has_room() {
        let all = u64::MAX;
        let keep = SampleConditions {
            pids: vec![Pid(i32::MAX); SampleConditions::MAX_IDS],
            tids: vec![Tid(i32::MAX); SampleConditions::MAX_IDS],
            cgroup: Some(all),
            comm: Some("x".repeat(SampleConditions::MAX_COMM)),
            ip: Some((all, all)),
            address: Some((all, all)),
            one_in: all,
            least_weight: all,
            data_src: Some((all, all)),
            user_only: true,
        };
        let tables = SiteTables { sites: u32::MAX, by_process: true, strides: true, callers: true };
        let in_kernel = InKernel { duty: ProgramTask::Aggregate(tables), keep };
        let contents = SampleContents { address: true, weight: true, data_src: true };
        let program = Box::new(WireProgram::of(&in_kernel, contents).unwrap());
        let request = BrokerRequest::Program { reservation: all, program };
        assert_eq!(passed(&request), Some(request));
    }

    #[test]
    fn what_cannot_be_is_neither_asked_for_nor_taken() {
        let keep = SampleConditions { one_in: 0, ..SampleConditions::default() };
        let wrong = InKernel { duty: ProgramTask::Filter, keep };
        assert_eq!(WireProgram::of(&wrong, SampleContents::default()), None);
        let mut program =
            WireProgram::of(&InKernel::aggregate(), SampleContents::default()).unwrap();
        assert!(program.program().is_some());
        program.one_in = 0;
        assert_eq!(program.program(), None);
    }
}
