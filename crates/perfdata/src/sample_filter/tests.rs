use super::condition::all;
use super::*;
use proptest::prelude::{Strategy, any, prop, prop_assert, prop_assert_eq, proptest};

const LOADS_THAT_MISS: SampleFilter = match SampleFilter::ibs(&[IbsCondition::LdOp])
    .and(SampleFilter::ibs(&[IbsCondition::DcMiss]))
{
    Some(filter) => filter,
    None => panic!("two terms fit"),
};

#[test]
fn each_condition_has_its_own_bit_and_its_own_text() {
    for (place, condition) in all().enumerate() {
        assert_eq!(condition.bit(), 1 << place, "{condition:?}");
        let text = format!("{}:{}", condition.kind(), condition.name());
        let filter: SampleFilter = text.parse().unwrap();
        assert_eq!(filter.to_string(), text);
        assert!(filter.asks(|asked| asked == condition) && !filter.is_all());
        assert!(!filter.asks(|asked| asked != condition));
    }
}

#[test]
fn constructors_and_texts_agree() {
    let parse = |text: &str| text.parse::<SampleFilter>().unwrap();
    assert_eq!(LOADS_THAT_MISS, parse("ibs:ld_op+ibs:dc_miss"));
    assert_eq!(LOADS_THAT_MISS, parse(" ibs:dc_miss + ibs:ld_op +ibs:dc_miss"));
    assert_eq!(SampleFilter::class(InstructionClass::PackedSp), parse("class:packed_sp"));
    assert_eq!(
        SampleFilter::ibs(&[IbsCondition::StOp, IbsCondition::LdOp]).to_string(),
        "ibs:ld_op|st_op"
    );
    assert_eq!(SampleFilter::mode(PrivilegeMode::User), parse("mode:user"));
    assert_eq!(SampleFilter::source(SourceCondition::Hitm), parse("src:hitm"));
    for everything in ["", "all", " all "] {
        assert_eq!(parse(everything), SampleFilter::default());
    }
    assert_eq!(SampleFilter::ALL.to_string(), "all");
    assert!(SampleFilter::ibs(&[]).is_all());
    assert_eq!(SampleFilter::ALL.and(LOADS_THAT_MISS), Some(LOADS_THAT_MISS));
}

#[test]
fn a_mode_is_kept_unless_each_sample_of_it_is_dropped() {
    for (filter, kept) in [
        ("all", [true, true]),
        ("ibs:ld_op+class:x87", [true, true]),
        ("mode:user", [true, false]),
        ("ibs:ld_op|st_op+mode:kernel", [false, true]),
        ("mode:user|kernel+ibs:ld_op", [true, true]),
        ("mode:user+mode:kernel", [false, false]),
    ] {
        let parsed: SampleFilter = filter.parse().unwrap();
        let modes = [PrivilegeMode::User, PrivilegeMode::Kernel];
        assert_eq!(modes.map(|mode| parsed.may_keep(mode)), kept, "{filter}");
    }
}

#[test]
fn what_is_not_known_is_refused_by_name() {
    let error = |text: &str| text.parse::<SampleFilter>().unwrap_err().to_string();
    assert!(error("clazz:packed_sp").contains("`clazz`"));
    assert!(error("ibs:ld_op+cache:l4").contains("kind `cache`"));
    assert!(error("ibs:ld_op|warp").contains("`ibs:warp`"));
    assert!(error("src:moon").contains("l3_miss, remote_dram, hitm"));
    assert!(error("ibs").contains("`ibs:`"));
    assert!(error("ibs:").contains("`ibs:`"));
    assert!(error("ibs:ld_op|").contains("`ibs:`"));
    assert!(error("+").contains("kind ``"));
    // A class is no alternative of an IBS bit.
    assert!(error("ibs:ld_op|class:x87").contains("`ibs:class:x87`"));
    let seven = "ibs:ld_op+ibs:st_op+ibs:dc_miss+ibs:l2_miss+mode:user+mode:kernel+class:x87";
    assert!(error(seven).contains("more than 6 terms"));
}

/// The truth of every condition, from a word of two bits each.
fn answers(word: u64) -> impl Fn(Condition) -> Option<bool> {
    move |condition| match word.rotate_right(2 * condition.bit().trailing_zeros()) & 3 {
        0 => None,
        answer => Some(answer == 1),
    }
}

fn filters() -> impl Strategy<Value = SampleFilter> {
    let clause = (0..4usize, any::<u32>()).prop_map(|(kind, bits)| {
        let kind = ["class", "ibs", "mode", "src"][kind];
        let all = all().filter(|condition| condition.kind() == kind);
        all.map(Condition::bit).fold(0, |clause, bit| clause | bit & u64::from(bits))
    });
    prop::collection::vec(clause, 0..=SampleFilter::CLAUSES).prop_map(|clauses| {
        let clauses = clauses.into_iter().filter(|&clause| clause != 0);
        clauses.fold(SampleFilter::ALL, |filter, clause| filter.with(clause).unwrap())
    })
}

proptest! {
    #[test]
    fn a_filter_survives_as_text(filter in filters()) {
        prop_assert_eq!(filter.to_string().parse::<SampleFilter>(), Ok(filter));
    }

    #[test]
    fn any_text_is_read_without_a_panic(text in "[a-z:|+ _0-9]{0,40}") {
        if let Ok(filter) = text.parse::<SampleFilter>() {
            prop_assert_eq!(filter.to_string().parse::<SampleFilter>(), Ok(filter));
        }
    }

    #[test]
    fn the_parts_keep_what_the_whole_keeps(filter in filters()) {
        let (fields, classes) = filter.split();
        prop_assert!(!fields.asks(|condition| condition.kind() == "class"));
        prop_assert!(!classes.asks(|condition| condition.kind() != "class"));
        prop_assert_eq!(fields.and(classes), Some(filter));
    }

    /// A verdict is the one that every way of filling in the unknown answers
    /// leads to; undecided when they disagree.
    #[test]
    fn undecided_means_that_the_answer_matters(filter in filters(), word in any::<u64>()) {
        let answer = answers(word);
        let optimist = filter.judge(|condition| answer(condition).or(Some(true)));
        let pessimist = filter.judge(|condition| answer(condition).or(Some(false)));
        match filter.judge(&answer) {
            Verdict::Keep => prop_assert_eq!(pessimist, Verdict::Keep),
            Verdict::Drop => prop_assert_eq!(optimist, Verdict::Drop),
            Verdict::Undecided(condition) => {
                prop_assert_eq!(answer(condition), None);
                prop_assert!(optimist == Verdict::Keep && pessimist == Verdict::Drop);
            }
        }
    }
}

#[test]
fn classes_are_asked_for_last() {
    let filter: SampleFilter = "class:x87+ibs:ld_op+mode:user".parse().unwrap();
    let mut asked = Vec::new();
    let verdict = filter.judge(|condition| {
        asked.push(condition.kind());
        Some(condition.kind() != "ibs")
    });
    assert_eq!((verdict, asked), (Verdict::Drop, vec!["ibs"]));
    assert_eq!(filter.to_string(), "ibs:ld_op+mode:user+class:x87");
}
