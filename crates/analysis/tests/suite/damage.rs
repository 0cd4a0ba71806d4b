//! Records that are not what they say.

use crate::recording::{Hit, KERNEL, Recording, page_faults, task, usual_fields};
use crate::report;
use analysis::Query;

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
