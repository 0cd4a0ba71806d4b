//! A guest whose host keeps PEBS to itself: caps/max_precise is 0.

use super::*;
use crate::catalogue::{self, Availability, availability};
use crate::machine::facts::FixtureTrees;

fn guest() -> Facts {
    let mut facts = FixtureTrees::of(&["skylake-client"]).facts("skylake-client");
    let pmus = facts.pmus.iter_mut().flatten();
    for description in pmus.filter_map(|pmu| pmu.description.as_mut()) {
        description.caps.insert("max_precise".to_owned(), "0".to_owned());
    }
    facts
}

fn availability_of(name: &str) -> Availability {
    availability(catalogue::find(name).unwrap(), &guest())
}

#[test]
fn precise_types_are_called_unavailable_and_the_rest_is_nearest() {
    let Availability::Unavailable { why, nearest, advice } = availability_of("dtlb_load_miss")
    else {
        panic!("the help would promise exact IPs")
    };
    assert!(why.contains("caps/max_precise is 0"), "{why}");
    assert_eq!(nearest, ["page_walk"], "which has skid everywhere");
    assert!(advice.starts_with("--allow-skid samples it with skid; "), "{advice}");
    assert!(matches!(availability_of("page_walk"), Availability::Available { .. }));
}

#[test]
fn skid_is_to_be_had_where_the_event_is_the_types_own() {
    let skid = |event| {
        let request = Request { allow_skid: true, ..request(event, Modes::USER) };
        outline(&request, &guest())
    };
    let event = skid("l1_cache_miss").unwrap().events[0].planned.clone();
    assert_eq!((event.attr.precise_ip(), event.promises.ip), (0, IpPromise::Skid));
    // Another instruction than the one that retired would be judged.
    let text = skid("packed_sp_retired").unwrap_err().to_string();
    assert!(text.contains("would be another instruction"), "{text}");
    let Availability::Unavailable { advice, .. } = availability_of("packed_sp_retired") else {
        panic!("there are no exact IPs to judge instructions by")
    };
    assert!(!advice.contains("--allow-skid"), "{advice}");
}

#[test]
fn instructions_are_not_judged_below_precise_2() {
    let facts = FixtureTrees::of(&["skylake-client"]).facts("skylake-client");
    let least = |event, allow_skid| {
        let request = Request { allow_skid, ..request(event, Modes::USER) };
        outline(&request, &facts).unwrap().events[0].planned.least_precise
    };
    assert_eq!([false, true].map(|skid| least("packed_sp_retired", skid)), [2, 2]);
    assert_eq!([false, true].map(|skid| least("l1_cache_miss", skid)), [1, 0]);
}
