//! A client made of bytes: what docs/protocol.md says, and none of our code.

use std::{
    io::{self, IoSliceMut, Write},
    mem::MaybeUninit,
    os::unix::net::UnixStream,
    path::Path,
    thread,
    time::Duration,
};

use rustix::cmsg_space;
use rustix::net::{RecvAncillaryBuffer, RecvFlags, ReturnFlags, recvmsg};
use rustix::process::{Gid, Uid};
use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};
use serde_json::{Value, json};
use tests::User;

/// A connection.
#[derive(Debug)]
pub(super) struct Raw {
    /// Bytes that were read already.
    begun: Vec<u8>,
    pub(super) stream: UnixStream,
}

#[derive(Debug)]
pub(super) enum Frame {
    Control(Value),
    Data(Vec<u8>),
}

impl Raw {
    /// Connects, and says nothing.
    pub(super) fn silent(socket: &Path) -> Raw {
        let stream = UnixStream::connect(socket).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        Raw { begun: Vec::new(), stream }
    }

    /// Connects as another user, and says nothing.
    pub(super) fn silent_as(socket: &Path, user: User) -> Raw {
        let groups: Vec<Gid> = user.group.into_iter().map(Gid::from_raw).collect();
        // Of that thread alone; what connects then is theirs.
        let connected = thread::scope(|scope| {
            let connect = || {
                let (gid, uid) = (Gid::from_raw(user.id), Uid::from_raw(user.id));
                set_thread_groups(&groups).unwrap();
                set_thread_res_gid(gid, gid, gid).unwrap();
                set_thread_res_uid(uid, uid, uid).unwrap();
                Raw::silent(socket)
            };
            scope.spawn(connect).join()
        });
        connected.unwrap()
    }

    /// Connects as another user, and says hello.
    pub(super) fn new_as(socket: &Path, user: User) -> Raw {
        let mut raw = Raw::silent_as(socket, user);
        raw.greet();
        raw
    }

    /// Connects and says hello; None: it is not let in.
    pub(super) fn welcomed(socket: &Path) -> Option<Raw> {
        let mut raw = Raw::silent(socket);
        let hello = json!({"verb": "hello", "oldest": 3, "newest": 3, "client": "raw 1"});
        raw.try_ask(&hello).filter(|answer| answer["reply"] == "welcome").map(|_| raw)
    }

    /// Connects and says hello.
    pub(super) fn new(socket: &Path) -> Raw {
        let mut raw = Raw::silent(socket);
        raw.greet();
        raw
    }

    fn greet(&mut self) {
        let welcome =
            self.ask(&json!({"verb": "hello", "oldest": 3, "newest": 3, "client": "raw 1"}));
        assert_eq!(welcome["reply"], "welcome", "{welcome}");
    }

    pub(super) fn tell(&mut self, message: &Value) {
        self.stream.write_all(&framed(message)).unwrap();
    }

    /// The same where the other side may close the connection at any time:
    /// None, if it did without a word.
    pub(super) fn try_ask(&mut self, message: &Value) -> Option<Value> {
        // A refusal does not wait for what is asked.
        let _closed = self.stream.write_all(&framed(message));
        match self.hear() {
            Ok(Frame::Control(answer)) => Some(answer),
            Ok(Frame::Data(_)) | Err(_) => None,
        }
    }

    /// The next answer; data before it is thrown away.
    pub(super) fn ask(&mut self, message: &Value) -> Value {
        self.tell(message);
        self.ask_nothing()
    }

    /// The next answer to what was asked already.
    pub(super) fn ask_nothing(&mut self) -> Value {
        loop {
            if let Frame::Control(answer) = self.hear().unwrap() {
                return answer;
            }
        }
    }

    /// Begins a session on a process by its start time.
    pub(super) fn start(&mut self, event: &str, pid: u32) -> Value {
        let target = json!({"process": {"pid": pid, "start_time": start_time(pid)}});
        let job = json!({"event": event, "user": true, "interval": 1});
        self.ask(&json!({"verb": "start", "job": job, "target": target}))
    }

    /// Takes back what was read past [`Raw::hear`].
    pub(super) fn put_back(&mut self, bytes: Vec<u8>) {
        self.begun = bytes;
    }

    fn read_exact(&mut self, into: &mut [u8]) -> io::Result<()> {
        let begun = into.len().min(self.begun.len());
        let (first, rest) = into.split_at_mut(begun);
        first.copy_from_slice(&self.begun[..begun]);
        self.begun.drain(..begun);
        let mut filled = 0;
        while filled < rest.len() {
            match receive(&self.stream, &mut rest[filled..])? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                more => filled += more,
            }
        }
        Ok(())
    }

    pub(super) fn hear(&mut self) -> io::Result<Frame> {
        let mut header = [0; 8];
        self.read_exact(&mut header)?;
        let length = u32::from_le_bytes(header[..4].try_into().unwrap());
        let mut payload = vec![0; usize::try_from(length).unwrap()];
        self.read_exact(&mut payload)?;
        assert_eq!(header[5..], [0, 3, 0], "flags and version");
        Ok(match header[4] {
            1 => Frame::Control(serde_json::from_slice(&payload).unwrap()),
            2 => Frame::Data(payload),
            other => panic!("a frame of kind {other}"),
        })
    }

    /// The stream up to its end, and the end.
    pub(super) fn all(&mut self) -> (Vec<u8>, Value) {
        let mut stream = Vec::new();
        loop {
            match self.hear().unwrap() {
                Frame::Data(more) => stream.extend(more),
                Frame::Control(value) if value["reply"] == "end" => return (stream, value),
                Frame::Control(value) => {
                    assert_ne!(value["reply"], "refused", "{value}");
                }
            }
        }
    }
}

/// Reads with room for descriptors, of which the daemon never sends any
/// (rule R8).
fn receive(stream: &UnixStream, into: &mut [u8]) -> io::Result<usize> {
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(4))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let received = recvmsg(stream, &mut [IoSliceMut::new(into)], &mut control, RecvFlags::empty())?;
    assert_eq!(control.drain().count(), 0, "the daemon sends descriptors");
    assert!(!received.flags.contains(ReturnFlags::CTRUNC), "the daemon sends descriptors");
    Ok(received.bytes)
}

pub(super) fn framed(message: &Value) -> Vec<u8> {
    let body = serde_json::to_vec(message).unwrap();
    let length = u32::try_from(body.len()).unwrap().to_le_bytes();
    [&length[..], &[1, 0, 3, 0], &body].concat()
}

/// Field 22 of /proc/PID/stat.
pub(super) fn start_time(pid: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let after = stat.rsplit_once(')').unwrap().1;
    after.split_whitespace().nth(19).unwrap().parse().unwrap()
}

/// Delivered and lost of an account, all stages together.
pub(super) fn sums(account: &Value) -> (u64, u64) {
    let lost = account["lost"].as_object().unwrap().values().map(|count| count.as_u64().unwrap());
    (account["delivered"].as_u64().unwrap(), lost.sum())
}

/// Waits until a condition holds.
#[track_caller]
pub(super) fn wait_for(what: &str, mut holds: impl FnMut() -> bool) {
    for _ in 0..6000 {
        if holds() {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("never: {what}");
}
