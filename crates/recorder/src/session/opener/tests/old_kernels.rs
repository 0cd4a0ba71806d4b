//! Kernels that do not know every feature.

use super::*;

/// A kernel older than these features.
fn without(unknown: &'static [Fallback]) -> Scripted {
    Scripted::new(move |asked| refuses(unknown, &asked.attr))
}

fn refuses(unknown: &[Fallback], attr: &Attr) -> Answer {
    let has = |&fallback: &Fallback| {
        let mut less = attr.clone();
        fallback.apply(&mut less);
        less != *attr
    };
    if unknown.iter().any(has) { Answer::No(libc::EINVAL) } else { Answer::Yes }
}

/// Every subset of the features may be unknown: backports make holes.
#[test]
fn exactly_what_is_unknown_is_given_up() {
    let subsets = (0..1_u32 << Fallback::ALL.len()).map(|bits| {
        let chosen = Fallback::ALL.into_iter().enumerate().filter(move |(i, _)| bits & 1 << i != 0);
        chosen.map(|(_, fallback)| fallback).collect::<Vec<_>>()
    });
    for unknown in subsets {
        let script = unknown.clone();
        let kernel = Scripted::new(move |asked| refuses(&script, &asked.attr));
        let plan = plan_of(vec![hardware("loads", 2)]);
        let opened = open_all(&plan, &kernel).unwrap();
        assert_eq!(opened.outcome.given_up, unknown);
        let notes: Vec<String> = unknown.iter().map(ToString::to_string).collect();
        assert_eq!(opened.outcome.notes, notes);
        let mut expected = SessionAttrs::of(&plan);
        unknown.iter().for_each(|&fallback| expected.give_up(fallback));
        assert_eq!(opened.outcome.attrs, expected, "and nothing else, precision neither");
    }
}

#[test]
fn one_latency_takes_the_place_of_several() {
    let opened =
        open_all(&plan_of(vec![hardware("loads", 2)]), &without(&[Fallback::WeightStruct]))
            .unwrap();
    let fields = opened.outcome.attrs.events[0].attr.sample_type;
    assert!(fields.contains(SampleType::WEIGHT) && !fields.contains(SampleType::WEIGHT_STRUCT));
    assert!(!opened.outcome.attrs.side.sample_type.contains(SampleType::WEIGHT));
}

#[test]
fn a_kernel_that_knows_all_is_asked_nothing_extra() {
    let kernel = Scripted::new(|_| Answer::Yes);
    open_all(&plan_of(vec![hardware("loads", 3)]), &kernel).unwrap();
    assert_eq!(kernel.asked().len(), 8, "an event and a side event on four CPUs");
}

#[test]
fn an_old_kernel_on_an_old_cpu_loses_what_it_must_of_both() {
    // Linux 4.18 on a CPU with precise_ip up to 2.
    let kernel = Scripted::new(|asked| match refuses(&Fallback::ALL, &asked.attr) {
        Answer::Yes if asked.attr.precise_ip() > 2 => Answer::No(libc::EOPNOTSUPP),
        answer => answer,
    });
    let opened = open_all(&plan_of(vec![hardware("loads", 3)]), &kernel).unwrap();
    assert_eq!(opened.outcome.given_up, Fallback::ALL);
    assert_eq!(opened.outcome.attrs.events[0].attr.precise_ip(), 2);
    assert_eq!(opened.outcome.notes.len(), Fallback::ALL.len() + 1);
    assert_eq!(kernel.levels()[..3], [3, 3, 2], "precision is tried again without the features");
}

#[test]
fn features_are_not_blamed_for_what_is_not_theirs() {
    // The registers: no dummy is taken either.
    let kernel = Scripted::new(|asked| match asked.attr.sample_type {
        fields if fields.contains(SampleType::ADDR) => Answer::No(libc::EINVAL),
        _ => Answer::Yes,
    });
    let plan = plan_of(vec![hardware("loads", 0)]);
    assert!(refused(&plan, &kernel).contains("failed with EINVAL: PMU cpu refuses config 0x1cd"));
    assert_eq!(kernel.asked().len(), 2, "the event, and one question");
}

#[test]
fn features_are_asked_of_our_own_thread_without_precision() {
    let kernel = without(&[Fallback::Lost]);
    open_all(&plan_of(vec![hardware("loads", 3)]), &kernel).unwrap();
    let asked = kernel.asked();
    let questions: Vec<&Asked> = asked.iter().filter(|asked| asked.question()).collect();
    assert!(questions.len() >= 2, "{asked:?}");
    for question in questions {
        let Attr { kind, config, flags, .. } = question.attr;
        assert_eq!((kind, config, question.attr.precise_ip()), (EventType::SOFTWARE, 9, 0));
        assert!(flags.contains(AttrFlags::EXCLUDE_KERNEL | AttrFlags::EXCLUDE_HV));
    }
}
