//! What a recorder's account says above a table.

use crate::recording::{Hit, KERNEL, Recording, page_faults, task, usual_fields};
use crate::report;
use analysis::{Query, json, table};

#[test]
fn the_ledger_says_what_is_unaccounted_for() {
    let line = |note: &str| {
        let mut stream = Recording::new(&[(page_faults(usual_fields()), "page_fault")]);
        stream.note(0, note);
        let report = report(Query::default(), &stream.bytes).unwrap();
        let text = table::render(&report, Default::default());
        let recorder = text.lines().find(|line| line.starts_with("# recorder")).unwrap().to_owned();
        let json: serde_json::Value =
            serde_json::from_str(&json::render(&report).unwrap()).unwrap();
        (recorder, json["events"][0]["ledger"]["unaccounted"].clone())
    };
    assert_eq!(
        line("kernel=35;delivered=10;lost.ring=0;lost.side=1;unaccounted=25;lost.tail=unknown"),
        (
            "# recorder: 35 counted by the kernel, 10 delivered, 0 lost, 25 unaccounted for, \
             losses at the end unknown, 1 mapping or task records lost"
                .into(),
            25.into()
        )
    );
    let (text, json) = line("kernel=8;delivered=10;unaccounted=-2");
    assert_eq!(
        text,
        "# recorder: 8 counted by the kernel, 10 delivered, 0 lost, -2 unaccounted for"
    );
    assert_eq!(json, -2);
    let (text, json) = line("kernel=10;delivered=10;unaccounted=0");
    assert_eq!(text, "# recorder: 10 counted by the kernel, 10 delivered, 0 lost");
    assert_eq!(json, 0);
    assert!(line("delivered=10").1.is_null());
}

#[test]
fn a_count_that_left_something_out_is_said() {
    let said = |note: &str| {
        let mut stream = Recording::new(&[(page_faults(usual_fields()), "page_fault")]);
        stream.note(0, note);
        let report = report(Query::default(), &stream.bytes).unwrap();
        let text = table::render(&report, Default::default());
        let line = text.lines().find(|line| line.starts_with("# the count of ")).map(str::to_owned);
        let json: serde_json::Value =
            serde_json::from_str(&json::render(&report).unwrap()).unwrap();
        (line, json["events"][0]["ledger"]["count_reached"].clone())
    };
    let (line, json) =
        said("delivered=50;lost.count=7;count.reached=50;count.ran_on=yes;seconds=1.5");
    assert_eq!(
        line.as_deref(),
        Some(
            "# the count of 50 ended sampling after 1.500 seconds, before the end of what was \
             sampled: later events were not counted; -c all samples all of it"
        )
    );
    assert_eq!(json, serde_json::json!({"count": 50, "ran_on": true}));
    let (line, json) = said("delivered=50;lost.count=7;count.reached=50;seconds=1.5");
    assert_eq!(
        line.as_deref(),
        Some(
            "# the count of 50 was reached before the end: later records were left out; -c all \
             keeps all"
        )
    );
    assert_eq!(json, serde_json::json!({"count": 50, "ran_on": false}));
    assert_eq!(said("delivered=50;seconds=1.5"), (None, serde_json::Value::Null));
}

/// A KSYMBOL of 44 bytes: its trailer leaves no room for its address.
const SHORT_KSYMBOL: [u8; 44] = {
    let mut bytes = [0; 44];
    bytes[0] = 17;
    bytes[6] = 44;
    bytes
};

#[test]
fn a_bad_side_record_costs_no_sample() {
    let mut stream = Recording::new(&[(page_faults(usual_fields()), "page_fault")]);
    let at = stream.bytes.len();
    stream.bytes.extend(SHORT_KSYMBOL);
    for time in 0..45 {
        stream.hit(&Hit::new(KERNEL, 0xffff_ffff_8100_1000, task(1, 1), time));
    }
    stream.bytes.extend(SHORT_KSYMBOL);
    let report = report(Query::default(), &stream.bytes).unwrap();
    assert_eq!(report.events[0].totals.counted, 45);
    assert_eq!(report.losses.unreadable, 2);
    let said = format!(
        "2 records could not be read and were left out; the first: at offset {at}: KSYMBOL \
         record, field addr: needs 8 bytes at offset 0, 4 are left"
    );
    assert!(report.notes.contains(&said), "{:?}", report.notes);
}
