use record::{Attr, SampleFilter};

use super::*;
use crate::Promises;
use crate::catalogue::promises::{
    AddressPromise, IpPromise, RegistersPromise, SampleSource, WeightPromise,
};

fn started(precise_ip: &[u8]) -> Started {
    let said = serde_json::json!({
        "session": 1, "stream": "", "name": "", "notes": [], "precise_ip": precise_ip,
    });
    serde_json::from_value(said).unwrap()
}

/// One event that asks for so much precision.
fn planned(precise_ip: u8) -> PlannedEvent {
    let mut attr = Attr::default();
    attr.set_precise_ip(precise_ip);
    PlannedEvent {
        name: "loads".into(),
        pmu: "cpu".into(),
        attr,
        cpus: None,
        leader: None,
        carrier: false,
        least_precise: 0,
        promises: Promises {
            source: SampleSource::Pebs,
            ip: IpPromise::Exact,
            address: AddressPromise::Data,
            registers: RegistersPromise::AfterRetirement,
            weight: WeightPromise::LoadLatency,
        },
        filter: SampleFilter::ALL,
    }
}

#[test]
fn what_the_kernel_took_there_is_what_was_opened() {
    let levels = |said: &[u8]| -> Vec<u8> {
        let opened = opened(&[planned(3), planned(2)], &started(said));
        opened.iter().map(|event| event.attr.precise_ip()).collect()
    };
    assert_eq!(levels(&[2, 2]), [2, 2]);
    assert_eq!(levels(&[]), [3, 2], "an older daemon does not say");
    assert_eq!(levels(&[9, 0, 1]), [3, 0], "never more than was planned");
}
