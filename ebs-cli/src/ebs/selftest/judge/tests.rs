//! Right streams pass; each stream that is wrong in one way fails, and says
//! which.

use super::*;
use crate::ebs::selftest::cases::{Case, cases};
use crate::ebs::selftest::observed::{Account, Opened, REGISTERS};
use crate::ebs::selftest::program::{Program, STRIDE};
use crate::ebs::selftest::truth::DI;
use perfdata::DataSrc;
use recorder::catalogue::find;

const LOAD: u64 = 0x5555_0100;
const NODES: u64 = 4096;
const FIRST: u64 = 0x7f00_0000_1000;
const INTERVAL: u64 = 33;
const VISITS: u64 = 33_000;

/// A load served by the second level: mem_op, mem_lvl_num.
const FROM_L2: DataSrc = DataSrc(1 << 1 | 2 << 33);
const FROM_L1: DataSrc = DataSrc(1 << 1 | 1 << 33);

fn case(name: &str, program: Program) -> Case {
    let all = cases(find(name).expect("is a type")).expect("has programs");
    all.into_iter().find(|case| case.program == program).expect("has this one")
}

fn misses() -> Case {
    case("l1_cache_miss", Program::Chase)
}

fn truth() -> Truth {
    let access = Access {
        is_store: false,
        start: FIRST + 8,
        end: FIRST + NODES * STRIDE,
        stride: STRIDE,
        width: 1,
        register: Some(DI),
        displacement: 8,
    };
    let site = TrueSite { name: "load".into(), at: LOAD, next: LOAD + 4, access: Some(access) };
    Truth { start: LOAD - 6, end: LOAD + 16, sites: vec![site], buffer: None, visits: VISITS }
}

fn promises(source: SampleSource) -> Promises {
    let (registers, weight) = match source {
        SampleSource::Emulated => {
            (RegistersPromise::BeforeInstruction, WeightPromise::ModelledLatency)
        }
        SampleSource::Ibs => (RegistersPromise::AtInterrupt, WeightPromise::MissLatency),
        _ => (RegistersPromise::AfterRetirement, WeightPromise::LoadLatency),
    };
    Promises { source, ip: IpPromise::Exact, address: AddressPromise::Data, registers, weight }
}

fn registers(address: u64, ip: u64) -> [Option<u64>; REGISTERS] {
    let mut all = [Some(0); REGISTERS];
    for (number, value) in [(DI, address - 8), (IP, ip), (R9, COOKIE)] {
        all[usize::try_from(number).expect("is small")] = Some(value);
    }
    all
}

fn sound(source: SampleSource) -> Observed {
    let sample = |place: u64| {
        let address = FIRST + 8 + place * 7 % NODES * STRIDE;
        Observation {
            ip: LOAD,
            is_exact: true,
            address: Some(address),
            registers: registers(address, LOAD),
            weight: Some(14),
            data_src: Some(FROM_L2),
            period: Some(INTERVAL),
            ..Observation::default()
        }
    };
    let made = VISITS / INTERVAL;
    Observed {
        samples: (0..made).map(sample).collect(),
        in_stream: made + 50,
        undecided: 0,
        events: vec![Opened {
            pmu: "cpu".into(),
            config: 0x8d1,
            config1: 0,
            precise_ip: 3,
            interval: INTERVAL,
            is_filtered: false,
            promises: promises(source),
        }],
        account: Account {
            events: (made + 50) * INTERVAL + 3,
            made: (source == SampleSource::Emulated).then_some(made + 50),
            delivered: made + 50,
            ..Account::default()
        },
    }
}

fn verdict(observed: &Observed) -> Vec<String> {
    judge(&misses(), &truth(), observed).wrong
}

/// Fails, and of what is measured only the shares that are named are wrong.
#[track_caller]
fn fails(observed: &Observed, names: &[&str]) {
    let wrong = verdict(observed);
    let said: Vec<&str> =
        wrong.iter().map(|text| text.split(':').next().unwrap_or_default()).collect();
    assert_eq!(said, names, "{wrong:#?}");
}

const SOURCES: [SampleSource; 3] = [SampleSource::Pebs, SampleSource::Ibs, SampleSource::Emulated];

/// A stream of each source with each sample changed.
fn changed(change: impl Fn(&mut Observation)) -> impl Iterator<Item = (SampleSource, Observed)> {
    SOURCES.into_iter().map(move |source| {
        let mut observed = sound(source);
        observed.samples.iter_mut().for_each(&change);
        (source, observed)
    })
}

#[test]
fn a_sound_stream_passes() {
    for source in SOURCES {
        assert_eq!(verdict(&sound(source)), [] as [String; 0], "{source}");
    }
    // One in a hundred may be of the program's start or end.
    let mut observed = sound(SampleSource::Pebs);
    observed.samples.iter_mut().step_by(101).for_each(|sample| sample.ip = 0x40_0000);
    assert_eq!(verdict(&observed), [] as [String; 0]);
}

#[test]
fn an_ip_one_instruction_further_fails() {
    for (source, mut observed) in changed(|sample| sample.ip = LOAD + 4) {
        let wrong = verdict(&observed).join("\n");
        assert!(wrong.contains("instruction: 0 of 1000"), "{source}: {wrong}");
        assert!(wrong.contains("0x4 behind load"), "{source}: {wrong}");
        // Two in a hundred are enough.
        observed.samples.iter_mut().for_each(|sample| sample.ip = LOAD);
        observed.samples.iter_mut().step_by(50).for_each(|sample| sample.ip = LOAD + 4);
        assert!(verdict(&observed).join("\n").contains("instruction: 980 of 1000"), "{source}");
    }
}

#[test]
fn skid_is_right_only_where_it_is_promised() {
    let mut observed = sound(SampleSource::Counter);
    observed.events[0].promises = Promises {
        ip: IpPromise::Skid,
        address: AddressPromise::None,
        registers: RegistersPromise::AtInterrupt,
        weight: WeightPromise::None,
        ..promises(SampleSource::Counter)
    };
    for sample in &mut observed.samples {
        (sample.ip, sample.is_exact) = (LOAD + 7, false);
    }
    assert_eq!(verdict(&observed), [] as [String; 0]);
    for sample in &mut observed.samples {
        sample.ip = LOAD + 16;
    }
    let wrong = verdict(&observed).join("\n");
    assert!(wrong.contains("instruction: 0 of 1000"), "outside of the loop: {wrong}");
}

#[test]
fn without_exact_ip_an_exact_event_fails() {
    for (_, observed) in changed(|sample| sample.is_exact = false) {
        fails(&observed, &["EXACT_IP"]);
    }
}

#[test]
fn an_address_off_by_a_line_fails() {
    for off in [64_i64, -64, 128, 1, 8, 4096] {
        for (source, observed) in changed(|sample| {
            sample.address = sample.address.map(|address| address.wrapping_add_signed(off));
        }) {
            let wrong = verdict(&observed);
            assert!(wrong.iter().any(|text| text.starts_with("address: ")), "{off} {source}");
        }
    }
    for (_, observed) in changed(|sample| sample.address = Some(0)) {
        fails(&observed, &["address"]);
    }
    for (_, observed) in changed(|sample| sample.address = None) {
        fails(&observed, &["address"]);
    }
}

/// Another node's address is one that is accessed: registers tell, where they
/// are of that moment.
#[test]
fn an_address_of_another_access_fails_by_the_register() {
    let neighbour = |sample: &mut Observation| {
        let other = sample.address.map(|address| {
            if address + STRIDE < FIRST + NODES * STRIDE { address + STRIDE } else { FIRST + 8 }
        });
        sample.address = other;
    };
    for (source, observed) in changed(neighbour) {
        match source {
            SampleSource::Ibs => assert_eq!(verdict(&observed), [] as [String; 0]),
            _ => fails(&observed, &["address"]),
        }
    }
}

#[test]
fn a_wrong_register_fails() {
    let change = |number: u32| {
        move |sample: &mut Observation| {
            let place = usize::try_from(number).expect("is small");
            sample.registers[place] = sample.registers[place].map(|value| value + 1);
        }
    };
    for (_, observed) in changed(change(R9)) {
        fails(&observed, &["registers"]);
    }
    for (source, observed) in changed(change(DI)) {
        match source {
            // They are of another moment there.
            SampleSource::Ibs => assert_eq!(verdict(&observed), [] as [String; 0]),
            _ => fails(&observed, &["registers"]),
        }
    }
    for (_, observed) in changed(|sample| sample.registers = [None; REGISTERS]) {
        fails(&observed, &["registers"]);
    }
    // The model's registers have the IP of the instruction.
    let mut observed = sound(SampleSource::Emulated);
    observed.samples.iter_mut().for_each(change(IP));
    fails(&observed, &["registers"]);
}

#[test]
fn a_wrong_period_fails() {
    for (_, observed) in changed(|sample| sample.period = Some(INTERVAL + 1)) {
        fails(&observed, &["period"]);
    }
    // Each says what was asked for, and there are twice as many.
    for source in SOURCES {
        let mut observed = sound(source);
        observed.samples.extend(observed.samples.clone());
        observed.in_stream += 1000;
        observed.account.delivered += 1000;
        observed.account.made = observed.account.made.map(|made| made + 1000);
        observed.account.events *= 2;
        assert!(verdict(&observed).join("\n").contains("number: 2000 samples"), "{source}");
    }
}

#[test]
fn losses_that_nobody_accounts_for_fail() {
    for source in SOURCES {
        // A tenth is missing, and no account says so.
        let mut observed = sound(source);
        observed.samples.truncate(900);
        observed.in_stream -= 100;
        let wrong = verdict(&observed).join("\n");
        assert!(wrong.contains("1050 samples are said to be delivered, 950 came"), "{wrong}");
        observed.account.delivered -= 100;
        let wrong = verdict(&observed).join("\n");
        assert!(wrong.contains("account: "), "{source}: {wrong}");
        // Now it does.
        observed.account.lost = 100;
        assert_eq!(verdict(&observed), [] as [String; 0], "{source}");
    }
}

#[test]
fn a_throttled_event_is_not_judged_by_its_number() {
    let mut observed = sound(SampleSource::Pebs);
    observed.samples.truncate(400);
    observed.in_stream -= 600;
    observed.account.delivered -= 600;
    assert!(!verdict(&observed).is_empty());
    observed.account.throttled = 3;
    assert_eq!(verdict(&observed), [] as [String; 0]);
}

#[test]
fn latencies_and_levels_that_cannot_be_fail() {
    for weight in [Some(0), None, Some(1 << 40)] {
        for (_, observed) in changed(|sample| sample.weight = weight) {
            fails(&observed, &["latency"]);
        }
    }
    for (_, observed) in changed(|sample| sample.data_src = Some(FROM_L1)) {
        fails(&observed, &["data source"]);
    }
    let store = DataSrc(1 << 2 | 2 << 33);
    for (_, observed) in changed(|sample| sample.data_src = Some(store)) {
        fails(&observed, &["data source"]);
    }
    // Who says nothing is not wrong.
    for (_, observed) in changed(|sample| sample.data_src = None) {
        assert_eq!(verdict(&observed), [] as [String; 0]);
    }
}

/// IBS measures misses alone: of a load that hit it says 0.
#[test]
fn a_hit_has_no_miss_latency() {
    for (source, observed) in changed(|sample| sample.weight = Some(0)) {
        let loads = case("memory_loads", Program::Rows);
        let wrong = judge(&loads, &truth(), &observed).wrong;
        assert_eq!(wrong.is_empty(), source == SampleSource::Ibs, "{source}: {wrong:?}");
    }
}

#[test]
fn too_few_samples_and_undecided_ones_fail() {
    let mut observed = sound(SampleSource::Pebs);
    observed.samples.clear();
    observed.in_stream = 50;
    observed.account = Account { delivered: 50, events: 50 * INTERVAL, ..Account::default() };
    let wrong = verdict(&observed).join("\n");
    assert!(wrong.contains("0 samples, too few") && wrong.contains("number: 0"), "{wrong}");
    let mut observed = sound(SampleSource::Pebs);
    observed.undecided = 11;
    assert!(verdict(&observed).join("\n").contains("11 of 1011 samples could not be told"));
}

/// Few samples of an event that the kernel held back are no fault of the
/// CPU's; what did come is judged all the same.
#[test]
fn too_few_samples_of_a_throttled_event_are_not_judged() {
    let mut observed = sound(SampleSource::Ibs);
    observed.samples.clear();
    observed.in_stream = 0;
    observed.account = Account { events: 50 * INTERVAL, throttled: 94, ..Account::default() };
    assert_eq!(verdict(&observed), Vec::<String>::new());
    let why = super::amount::unjudged(&observed).unwrap();
    assert!(why.contains("94 times") && why.contains("--seconds"), "{why}");
    observed.in_stream = 1;
    assert!(verdict(&observed).join("\n").contains("0 samples are said to be delivered, 1 came"));
    observed.account.throttled = 0;
    assert_eq!(super::amount::unjudged(&observed), None);
}

/// The kernel's faults: exact to one, in a loop and in its own code.
#[test]
fn faults_are_counted_one_by_one() {
    let promised = Promises {
        source: SampleSource::KernelSoftware,
        ip: IpPromise::Causing,
        address: AddressPromise::Faulting,
        registers: RegistersPromise::BeforeInstruction,
        weight: WeightPromise::None,
    };
    let of = |case: &Case, truth: &Truth, count: u64| {
        let mut observed = sound(SampleSource::Pebs);
        observed.samples.truncate(usize::try_from(count).expect("is small"));
        observed.events[0].interval = 1;
        observed.events[0].promises = promised;
        for sample in &mut observed.samples {
            (sample.period, sample.is_exact, sample.weight) = (Some(1), false, None);
            sample.of_kernel = case.cause == Cause::Kernel;
        }
        let made = count + 7;
        observed.in_stream = made;
        observed.account =
            Account { events: made, made: Some(made), delivered: made, ..Account::default() };
        judge(case, truth, &observed).wrong
    };
    let in_loop = Case { cause: Cause::Site("load"), ..case("page_fault", Program::Touch) };
    let in_kernel = case("page_fault", Program::Copy);
    let mut truth = Truth { visits: 900, ..truth() };
    truth.buffer = truth.sites[0].access;
    for case in [in_loop, in_kernel] {
        assert_eq!(of(&case, &truth, 900), [] as [String; 0]);
        for count in [899, 920] {
            assert!(of(&case, &truth, count).join("\n").contains("number: "), "{count}");
        }
    }
    // What user code caused is not the kernel's.
    truth.visits = 1000;
    let wrong = judge(&in_kernel, &truth, &sound(SampleSource::Pebs)).wrong.join("\n");
    assert!(wrong.contains("which is user code"), "{wrong}");
}

/// A breakpoint and a system call's tracepoint name the instruction after.
#[test]
fn the_instruction_after_is_right_where_it_is_promised() {
    let mut observed = sound(SampleSource::Emulated);
    observed.events[0].promises.ip = IpPromise::AfterCausing;
    observed.events[0].promises.registers = RegistersPromise::AfterInstruction;
    assert!(verdict(&observed).join("\n").contains("instruction: 0 of 1000"));
    for sample in &mut observed.samples {
        sample.ip = LOAD + 4;
        sample.registers = registers(sample.address.expect("has one"), LOAD + 4);
    }
    assert_eq!(verdict(&observed), [] as [String; 0]);
}
