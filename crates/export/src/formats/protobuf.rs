//! Messages of protocol buffers, as many kinds of fields as pprof has.
//! <https://protobuf.dev/programming-guides/encoding/>

/// A varint follows.
const VARINT: u64 = 0;
/// A length follows, and so many bytes.
const LENGTH: u64 = 2;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ProtoMessage {
    bytes: Vec<u8>,
}

impl ProtoMessage {
    /// Adds a number; 0 is what a reader takes a field for that is not there.
    pub(crate) fn number(&mut self, field: u64, value: u64) {
        if value != 0 {
            push(field << 3 | VARINT, &mut self.bytes);
            push(value, &mut self.bytes);
        }
    }

    /// Adds a text, an empty one too.
    pub(crate) fn text(&mut self, field: u64, text: &str) {
        self.all_bytes(field, text.as_bytes());
    }

    pub(crate) fn message(&mut self, field: u64, message: &ProtoMessage) {
        self.all_bytes(field, &message.bytes);
    }

    pub(crate) fn packed(&mut self, field: u64, values: impl IntoIterator<Item = u64>) {
        let mut bytes = Vec::new();
        values.into_iter().for_each(|value| push(value, &mut bytes));
        self.all_bytes(field, &bytes);
    }

    fn all_bytes(&mut self, field: u64, bytes: &[u8]) {
        push(field << 3 | LENGTH, &mut self.bytes);
        push(u64::try_from(bytes.len()).unwrap_or(u64::MAX), &mut self.bytes);
        self.bytes.extend_from_slice(bytes);
    }

    /// What was added, and an empty message.
    pub(crate) fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.bytes)
    }

    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }
}

fn push(mut value: u64, into: &mut Vec<u8>) {
    loop {
        let low = value.to_le_bytes()[0] & 0x7f;
        value >>= 7;
        if value == 0 {
            return into.push(low);
        }
        into.push(low | 0x80);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodes_as_the_documentation_does() {
        let mut inner = ProtoMessage::default();
        inner.number(1, 150);
        assert_eq!(inner.bytes, [0x08, 0x96, 0x01]);
        let mut message = ProtoMessage::default();
        message.message(3, &inner);
        assert_eq!(message.take(), [0x1a, 0x03, 0x08, 0x96, 0x01]);
        message.text(2, "testing");
        assert_eq!(message.take(), b"\x12\x07testing");
        message.packed(6, [3, 270, 86942]);
        assert_eq!(message.take(), [0x32, 6, 3, 0x8e, 2, 0x9e, 0xa7, 5]);
        message.number(1, u64::MAX);
        assert_eq!((message.len(), message.take().last().copied()), (11, Some(1)));
        message.number(1, 0);
        assert_eq!(message.len(), 0);
    }
}
