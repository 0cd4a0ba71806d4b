//! What a standing session of the daemon samples from now on.

use super::live_view::StreamPart;
use recorder::remote::client::{Client, ClientError, RecordedStream};
use std::path::Path;
use std::sync::mpsc::SyncSender;
use std::time::Duration;

/// The daemon is asked anew after so long.
const LOOK: Duration = Duration::from_millis(200);

/// Hands on what comes, part by part, until the daemon ends it or nobody
/// listens. An empty part says that the daemon has begun.
pub(super) fn read(socket: &Path, name: &str, parts: &SyncSender<StreamPart>) {
    let why = match follow(socket, name, parts) {
        Ok(why) => why,
        Err(error) => Some(error.to_string()),
    };
    let _gone = parts.send(StreamPart::End(why));
}

fn follow(
    socket: &Path,
    name: &str,
    parts: &SyncSender<StreamPart>,
) -> Result<Option<String>, ClientError> {
    let mut live = RecordedStream::open(Client::connect(socket)?, name, None, true)?;
    let mut is_heard = parts.send(StreamPart::Bytes(Vec::new())).is_ok();
    while is_heard {
        let mut bytes = Vec::new();
        let goes_on = live.wait(LOOK, &mut |more| bytes.extend_from_slice(more))?;
        if !bytes.is_empty() {
            is_heard = parts.send(StreamPart::Bytes(bytes)).is_ok();
        }
        if !goes_on {
            return Ok(live.ending().take());
        }
    }
    Ok(None)
}
