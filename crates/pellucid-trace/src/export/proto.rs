//! The wire format of protocol buffers, as far as a writer needs it: numbers, bytes and nested messages.

/// A message under construction.
#[derive(Default)]
pub(super) struct Message {
    bytes: Vec<u8>,
}

impl Message {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }

    pub(super) fn uint(&mut self, field: u32, value: u64) -> &mut Self {
        self.varint(u64::from(field) << 3);
        self.varint(value);
        self
    }

    /// Signed numbers are written as their two's complement.
    pub(super) fn int(&mut self, field: u32, value: i64) -> &mut Self {
        self.uint(field, value as u64)
    }

    pub(super) fn fixed64(&mut self, field: u32, value: u64) -> &mut Self {
        self.varint(u64::from(field) << 3 | 1);
        self.bytes.extend_from_slice(&value.to_le_bytes());
        self
    }

    pub(super) fn double(&mut self, field: u32, value: f64) -> &mut Self {
        self.fixed64(field, value.to_bits())
    }

    pub(super) fn text(&mut self, field: u32, value: &str) -> &mut Self {
        self.raw(field, value.as_bytes())
    }

    pub(super) fn message(&mut self, field: u32, value: &Message) -> &mut Self {
        self.raw(field, &value.bytes)
    }

    fn raw(&mut self, field: u32, value: &[u8]) -> &mut Self {
        self.varint(u64::from(field) << 3 | 2);
        self.varint(value.len() as u64);
        self.bytes.extend_from_slice(value);
        self
    }

    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.bytes.clear();
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::Message;

    #[test]
    fn numbers_and_nested_messages_have_the_documented_bytes() {
        let mut inner = Message::default();
        inner.uint(1, 150);
        let mut outer = Message::default();
        outer.message(3, &inner).text(2, "testing").int(1, -1).fixed64(4, 1);
        let expected = [
            &[0x1a, 3, 0x08, 0x96, 0x01][..],
            &[0x12, 7],
            b"testing",
            &[0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01],
            &[0x21, 1, 0, 0, 0, 0, 0, 0, 0],
        ];
        assert_eq!(outer.as_bytes(), expected.concat());
    }
}
