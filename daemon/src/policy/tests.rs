use perfdata::sample_filter::IbsCondition;
use perfdata::{Attr, AttrFlags, EventType, Pid, ReadFormat, SampleFilter, SampleType};
use proptest::prelude::*;
use recorder::catalogue::promises::{
    AddressPromise, IpPromise, RegistersPromise, SampleSource, WeightPromise,
};
use recorder::{Facts, Modes, Plan, PlannedEvent, Promises, Request, Target};

use super::*;

/// Any attr at all, unknown bits included.
fn attrs() -> impl Strategy<Value = Attr> {
    let masks = (any::<u64>(), any::<u64>(), any::<u64>(), any::<u64>());
    let small = (any::<u32>(), any::<u32>(), any::<u16>(), any::<u32>());
    (masks, small, any::<[u64; 4]>()).prop_map(|(masks, small, words)| Attr {
        kind: EventType(small.0 % 8),
        sample_type: SampleType::from_bits_retain(masks.0),
        flags: AttrFlags::from_bits_retain(masks.1),
        read_format: ReadFormat::from_bits_retain(masks.2),
        branch_sample_type: perfdata::attr::BranchSampleType::from_bits_retain(masks.3),
        sample_stack_user: small.1,
        sample_max_stack: small.2,
        aux_watermark: small.3,
        aux_action: small.3,
        sample_period: words[0],
        sample_regs_user: words[1],
        sample_regs_intr: words[2],
        sig_data: words[3],
        ..Attr::default()
    })
}

proptest! {
    #[test]
    fn nothing_forbidden_is_left_without_permission(mut attr in attrs(), other in 0u32..8) {
        // Every set of permissions that lacks the kernel's.
        restrict(&mut attr, Permissions::from_bits_truncate(other << 1), &FORBIDDEN);
        prop_assert!(!attr.sample_type.intersects(FORBIDDEN.fields));
        prop_assert!(!attr.flags.intersects(FORBIDDEN.flags));
        prop_assert!(attr.flags.contains(FORBIDDEN.forced));
        prop_assert_eq!(attr.branch_sample_type.bits(), 0);
        prop_assert_eq!((attr.aux_watermark, attr.aux_action, attr.sig_data), (0, 0, 0));
        prop_assert_eq!(attr.sample_type.bits() >> 25, 0, "fields nobody knows");
        prop_assert_eq!(attr.flags.bits() >> 40, 0, "flags nobody knows");
    }

    #[test]
    fn what_was_restricted_asks_for_no_more_than_before(mut attr in attrs()) {
        // To see guests alone is not less than to see the host alone.
        attr.flags.remove(AttrFlags::EXCLUDE_HOST);
        let mut less = attr.clone();
        restrict(&mut less, Permissions::empty(), &FORBIDDEN);
        less.branch_sample_type = attr.branch_sample_type;
        prop_assert_eq!(attr_subset(&less, &attr), Ok(()));
        let mut again = less.clone();
        restrict(&mut again, Permissions::empty(), &FORBIDDEN);
        less.branch_sample_type = again.branch_sample_type;
        prop_assert_eq!(again, less);
    }

    #[test]
    fn any_bit_more_is_stronger(attr in attrs(), bit in 0u32..64) {
        let mut granted = attr.clone();
        restrict(&mut granted, Permissions::KERNEL, &FORBIDDEN);
        let mut asked = granted.clone();
        asked.sample_type |= SampleType::from_bits_retain(1 << bit);
        let weight = granted.sample_type.contains(SampleType::WEIGHT_STRUCT)
            && asked.sample_type == granted.sample_type | SampleType::WEIGHT;
        prop_assert_eq!(attr_subset(&asked, &granted).is_ok(), asked == granted || weight);
        let mut asked = granted.clone();
        asked.sample_regs_intr |= 1 << bit;
        prop_assert_eq!(attr_subset(&asked, &granted).is_ok(), asked == granted);
    }
}

#[test]
fn each_exclusion_must_be_kept_and_may_be_added() {
    let with = |flags| Attr { flags, ..Attr::default() };
    let user = with(AttrFlags::EXCLUDE_KERNEL | AttrFlags::EXCLUDE_HV);
    assert_eq!(
        attr_subset(&with(AttrFlags::EXCLUDE_HV), &user),
        Err(AttrExcess { what: "excludes" })
    );
    assert_eq!(attr_subset(&with(user.flags | AttrFlags::EXCLUDE_IDLE), &user), Ok(()));
    let inherits = with(user.flags | AttrFlags::INHERIT);
    assert_eq!(attr_subset(&inherits, &user), Err(AttrExcess { what: "flags" }));
    assert_eq!(attr_subset(&user, &inherits), Ok(()));
}

#[test]
fn a_shorter_period_is_stronger_and_so_is_a_higher_frequency() {
    let of = |sample_period, flags| Attr { sample_period, flags, ..Attr::default() };
    let (none, freq) = (AttrFlags::empty(), AttrFlags::FREQ);
    let stronger = Err(AttrExcess { what: "sample_period" });
    assert_eq!(attr_subset(&of(99, none), &of(100, none)), stronger);
    assert_eq!(attr_subset(&of(101, none), &of(100, none)), Ok(()));
    assert_eq!(attr_subset(&of(101, freq), &of(100, freq)), stronger);
    assert_eq!(attr_subset(&of(99, freq), &of(100, freq)), Ok(()));
    assert_eq!(attr_subset(&of(1 << 40, none), &of(100, freq)), stronger, "not to be compared");
}

#[test]
fn permissions_have_the_names_that_the_configuration_uses() {
    assert_eq!(Permissions::all().names(), ["kernel", "system_wide", "others_tasks", "own_tasks"]);
    for name in Permissions::all().names() {
        let read: Permission = serde_json::from_str(&format!("{name:?}")).unwrap();
        assert_eq!(read.bit().names(), [name]);
    }
}

/// An event of the whole PMU, by IBS where it says so.
fn event(source: SampleSource, filter: SampleFilter) -> PlannedEvent {
    PlannedEvent {
        name: "memory_loads".into(),
        pmu: "ibs_op".into(),
        attr: Attr { sample_type: SampleType::IP | SampleType::RAW, ..Attr::default() },
        cpus: None,
        leader: None,
        carrier: false,
        least_precise: 0,
        promises: Promises {
            source,
            ip: IpPromise::Exact,
            address: AddressPromise::Data,
            registers: RegistersPromise::AtInterrupt,
            weight: WeightPromise::None,
        },
        filter,
    }
}

#[test]
fn only_ibs_and_only_of_tasks_goes_without_the_exclusion_of_guests() {
    let of = |source, target, opened_by| {
        let event = event(source, SampleFilter::ALL);
        let mut attr = event.attr.clone();
        let forbidden = Forbidden::of(&event, target, opened_by);
        restrict(&mut attr, Permissions::SYSTEM_WIDE | Permissions::OTHERS_TASKS, &forbidden);
        (attr.flags, attr.sample_type.contains(SampleType::RAW))
    };
    let all = FORBIDDEN.forced;
    let with_guests = all - AttrFlags::EXCLUDE_GUEST;
    let tasks = [Target::Command, Target::Process(Pid(7))];
    for target in tasks {
        assert_eq!(of(SampleSource::Ibs, target, OpenedBy::User), (with_guests, true));
        assert_eq!(of(SampleSource::Ibs, target, OpenedBy::Policy), (with_guests, false));
    }
    for opened_by in [OpenedBy::User, OpenedBy::Policy] {
        for target in [Target::System, Target::Cgroup] {
            assert_eq!(of(SampleSource::Ibs, target, opened_by), (all, false), "{target:?}");
        }
        for source in [SampleSource::Pebs, SampleSource::Tracepoint, SampleSource::KernelSoftware] {
            for target in tasks {
                assert_eq!(of(source, target, opened_by), (all, false), "{source:?}");
            }
        }
    }
}

#[test]
fn what_cannot_be_had_without_the_kernel_is_refused_with_its_reason() {
    let facts = Facts::read(std::path::Path::new("/")).unwrap();
    let request = Request::new("page_fault", Modes::USER, Target::Process(Pid(1)));
    let plan = |target, source, filter| Plan {
        target,
        events: vec![event(source, filter)],
        ..recorder::plan(&Request { target: Target::Command, ..request.clone() }, &facts).unwrap()
    };
    let loads = SampleFilter::ibs(&[IbsCondition::LdOp]);
    let process = plan(Target::Process(Pid(1)), SampleSource::Ibs, loads);
    let whole = plan(Target::System, SampleSource::Ibs, SampleFilter::ALL);
    let (none, kernel) = (Permissions::OTHERS_TASKS, Permissions::KERNEL);
    assert_eq!(unpermitted(&process, none, OpenedBy::User), None);
    let registers = unpermitted(&process, none, OpenedBy::Policy).unwrap();
    assert!(registers.to_string().contains("physical addresses"), "{registers}");
    let all = plan(Target::Process(Pid(1)), SampleSource::Ibs, SampleFilter::ALL);
    assert_eq!(unpermitted(&all, none, OpenedBy::Policy), None);
    for opened_by in [OpenedBy::User, OpenedBy::Policy] {
        let guests = unpermitted(&whole, none, opened_by).unwrap();
        assert!(guests.to_string().contains("virtual machines"), "{guests}");
        assert_eq!(unpermitted(&whole, kernel, opened_by), None);
    }
    let precise = plan(Target::System, SampleSource::Pebs, SampleFilter::ALL);
    assert_eq!(
        unpermitted(&precise, none, OpenedBy::Policy),
        None,
        "the kernel takes the exclusion"
    );
}
