//! Little-endian bytes, pushed field by field.

pub(crate) const MMAP: u32 = 1;
pub(crate) const COMM: u32 = 3;
pub(crate) const EXIT: u32 = 4;
pub(crate) const FORK: u32 = 7;
pub(crate) const SAMPLE: u32 = 9;
pub(crate) const MMAP2: u32 = 10;
pub(crate) const FINISHED_ROUND: u32 = 68;

/// Privilege levels of misc.
pub(crate) const KERNEL: u16 = 1;
pub(crate) const USER: u16 = 2;
/// On MMAP2: the mapping is not executable. On COMM: the name is new by exec.
pub(crate) const MMAP_DATA: u16 = 1 << 13;
pub(crate) const COMM_EXEC: u16 = 1 << 13;
/// On SAMPLE: the IP is the instruction that caused the event.
pub(crate) const EXACT_IP: u16 = 1 << 14;

#[derive(Clone, Debug, Default)]
pub(crate) struct Bytes(pub(crate) Vec<u8>);

impl Bytes {
    pub(crate) fn u8(&mut self, value: u8) {
        self.0.push(value);
    }

    pub(crate) fn u16(&mut self, value: u16) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    pub(crate) fn u32(&mut self, value: u32) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    pub(crate) fn u64(&mut self, value: u64) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    pub(crate) fn u64s(&mut self, values: &[u64]) {
        values.iter().for_each(|&value| self.u64(value));
    }

    pub(crate) fn raw(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    /// Zeros up to a multiple of `size` bytes.
    pub(crate) fn pad(&mut self, size: usize) {
        self.0.resize(self.0.len().next_multiple_of(size), 0);
    }

    /// As the kernel writes names: with a NUL, padded to 8 bytes.
    pub(crate) fn name(&mut self, text: &str) {
        let start = self.0.len();
        self.raw(text.as_bytes());
        self.0.resize(start + (text.len() + 1).next_multiple_of(8), 0);
    }

    /// As perf's do_write_string() writes texts of the header: length, then
    /// the text padded to 64 bytes.
    pub(crate) fn text(&mut self, text: &str) {
        let padded = (text.len() + 1).next_multiple_of(64);
        self.u32(u32::try_from(padded).unwrap());
        let start = self.0.len();
        self.raw(text.as_bytes());
        self.0.resize(start + padded, 0);
    }

    pub(crate) fn record(&mut self, kind: u32, misc: u16, body: impl FnOnce(&mut Bytes)) {
        let start = self.0.len();
        self.u32(kind);
        self.u16(misc);
        self.u16(0);
        body(self);
        let size = u16::try_from(self.0.len() - start).unwrap();
        self.0[start + 6..start + 8].copy_from_slice(&size.to_le_bytes());
    }
}
