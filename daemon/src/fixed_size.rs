//! Messages between the supervisor and its workers: each kind a fixed number
//! of bytes, whoever wrote them.
//!
//! They are derived, by serde, and hold nothing that grows: what is read
//! allocates nothing by a size that stands in it.

use serde::Serialize;
use serde::de::DeserializeOwned;

/// A message, with zeros behind it. One for which there is no room becomes
/// what nobody takes for a message.
pub(crate) fn encode<const BYTES: usize>(message: &impl Serialize) -> [u8; BYTES] {
    let mut bytes = [0; BYTES];
    match postcard::to_slice(message, &mut bytes) {
        Ok(_) => bytes,
        Err(_) => [u8::MAX; BYTES],
    }
}

/// The message that is written like that, byte by byte; None: there is none.
pub(crate) fn decode<M, const BYTES: usize>(bytes: &[u8; BYTES]) -> Option<M>
where
    M: Serialize + DeserializeOwned,
{
    let message: M = postcard::from_bytes(bytes).ok()?;
    (encode(&message) == *bytes).then_some(message)
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    enum Message {
        Number(u32),
        Pair { first: bool, second: u64 },
    }

    #[test]
    fn a_message_has_one_form_and_what_is_not_that_is_refused() {
        for message in [Message::Number(300), Message::Pair { first: true, second: 7 }] {
            let bytes: [u8; 8] = encode(&message);
            assert_eq!(decode(&bytes), Some(message));
        }
        let read = |bytes: [u8; 8]| decode::<Message, 8>(&bytes);
        assert_eq!(read([0, 5, 0, 0, 0, 0, 0, 0]), Some(Message::Number(5)));
        assert_eq!(read([0, 5, 0, 0, 0, 0, 0, 1]), None, "something behind it");
        assert_eq!(read([0, 0x85, 0, 0, 0, 0, 0, 0]), None, "the same number at length");
        assert_eq!(read([2, 0, 0, 0, 0, 0, 0, 0]), None, "no such kind");
        assert_eq!(read([1, 2, 0, 0, 0, 0, 0, 0]), None, "neither true nor false");
        let too_long = Message::Pair { first: true, second: u64::MAX };
        assert_eq!(read(encode(&too_long)), None, "no room");
    }
}
