//! Any bytes as what the other side of the daemon's socket sends, and as a
//! worker's request to the supervisor: the same messages however the bytes
//! are cut, nothing longer than allowed, and what is understood writes itself
//! back.
//!
//! Input: a byte that says whose bytes they are and how they are cut, then
//! the bytes.
#![no_main]

use daemon::fuzzing;
use daemon::policy::{FORBIDDEN, Permissions, attr_subset, restrict};
use libfuzzer_sys::fuzz_target;
use perfdata::{Attr, AttrFlags, ByteOrder};
use recorder::remote::protocol::{
    FRAME_HEADER, FrameKind, MAX_CLIENT_PAYLOAD, MAX_DAEMON_PAYLOAD, Parsed, Reply, Verb, frame, parse,
};
use serde::{Serialize, de::DeserializeOwned};

/// A kind, a payload, and the bytes that both took.
type Taken = (FrameKind, Vec<u8>, usize);

/// Frames in order, and whether the rest is none.
fn frames(bytes: &[u8], most: u32, piece: usize) -> (Vec<Taken>, bool) {
    let (mut frames, mut at, mut end) = (Vec::new(), 0, 0);
    loop {
        match parse(&bytes[at..end], most) {
            Err(error) => {
                assert!(!error.to_string().is_empty());
                return (frames, true);
            }
            Ok(Parsed::NeedMore(wanted)) => {
                assert!(wanted > end - at);
                assert!(wanted <= FRAME_HEADER + most as usize, "a buffer of fixed size will do");
                if end == bytes.len() {
                    return (frames, false);
                }
                end = (end + piece).min(bytes.len());
            }
            Ok(Parsed::Frame(found, taken)) => {
                assert_eq!(taken, FRAME_HEADER + found.payload.len());
                assert!(!found.payload.is_empty() && found.payload.len() <= most as usize);
                frames.push((found.kind, found.payload.to_vec(), taken));
                at += taken;
            }
        }
    }
}

fn understood<M: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(
    body: &[u8],
) -> Option<M> {
    let message: M = serde_json::from_slice(body).ok()?;
    let again = serde_json::to_vec(&message).expect("a message can be written");
    assert_eq!(serde_json::from_slice::<M>(&again).ok().as_ref(), Some(&message));
    Some(message)
}

fn of_client(bytes: &[u8], piece: usize) {
    let (found, bad) = frames(bytes, MAX_CLIENT_PAYLOAD, bytes.len().max(1));
    assert_eq!((&found, bad), (&frames(bytes, MAX_CLIENT_PAYLOAD, piece).0, bad));
    for (kind, body, taken) in found {
        let header = frame(kind, body.len()).expect("it was one");
        assert_eq!(header.len() + body.len(), taken);
        if let Some(Verb::Start { job, .. } | Verb::Plan { job, .. }) = understood::<Verb>(&body) {
            // Found in the table, or refused: it is a name and nothing else.
            let _known = job.request.event.event().map_err(|error| error.to_string());
        }
    }
}

fn of_daemon(bytes: &[u8], piece: usize) {
    let (found, bad) = frames(bytes, MAX_DAEMON_PAYLOAD, piece);
    assert_eq!((&found, bad), (&frames(bytes, MAX_DAEMON_PAYLOAD, 1 << 20).0, bad));
    for (kind, body, _) in found {
        if kind == FrameKind::Control {
            understood::<Reply>(&body);
        }
    }
}

/// Two attrs: the supervisor opens the second under a grant of the first
/// only if it shows no more.
fn of_worker(bytes: &[u8]) {
    if let Some(again) = fuzzing::broker_request(bytes) {
        assert_eq!(fuzzing::broker_request(&again).as_ref(), Some(&again));
    }
    let Ok(mut granted) = Attr::decode(bytes, ByteOrder::Little) else { return };
    let Ok(asked) = Attr::decode(&bytes[granted.size as usize..], ByteOrder::Little) else {
        return;
    };
    // IBS of a task goes without it.
    let mut with_guests = FORBIDDEN;
    with_guests.forced.remove(AttrFlags::EXCLUDE_GUEST);
    for forbidden in [with_guests, FORBIDDEN] {
        for permissions in [Permissions::empty(), Permissions::KERNEL] {
            restrict(&mut granted, permissions, &forbidden);
            assert_eq!(attr_subset(&granted, &granted), Ok(()));
            if attr_subset(&asked, &granted).is_err() {
                continue;
            }
            assert_eq!((asked.kind, asked.config), (granted.kind, granted.config));
            assert_eq!(asked.sample_regs_intr & !granted.sample_regs_intr, 0);
            let mut less = asked.clone();
            restrict(&mut less, permissions, &forbidden);
            less.flags |= asked.flags;
            assert_eq!(less, asked, "nothing that was taken from the grant is back");
        }
    }
}

fuzz_target!(|input: &[u8]| {
    let Some((choice, bytes)) = input.split_first() else { return };
    let piece = usize::from(choice / 3) + 1;
    match choice % 3 {
        0 => of_client(bytes, piece),
        1 => of_daemon(bytes, piece),
        _ => of_worker(bytes),
    }
});
