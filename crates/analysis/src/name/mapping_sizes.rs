//! How many mappings a place of the program made, and of how many bytes.

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct MappingSizes {
    count: u64,
    /// Bytes of the smallest and the largest.
    least: u64,
    most: u64,
}

impl MappingSizes {
    pub(crate) fn add(&mut self, bytes: u64) {
        self.least = if self.count == 0 { bytes } else { self.least.min(bytes) };
        self.count += 1;
        self.most = self.most.max(bytes);
    }

    pub(crate) fn join(&mut self, other: MappingSizes) {
        if other.count > 0 {
            self.least = if self.count == 0 { other.least } else { self.least.min(other.least) };
            self.count += other.count;
            self.most = self.most.max(other.most);
        }
    }

    pub(crate) fn resize(&mut self, bytes: u64) {
        self.least = self.least.min(bytes);
        self.most = self.most.max(bytes);
    }

    /// `mapping of 64 MiB`, `12 mappings of 4 KiB to 1 MiB`; of a file with its name behind `of`.
    pub(crate) fn text(&self, file: Option<&str>) -> String {
        let bytes = match self.least == self.most {
            true => in_units(self.most),
            false => format!("{} to {}", in_units(self.least), in_units(self.most)),
        };
        let what = match self.count {
            0 | 1 => "mapping".to_owned(),
            count => format!("{count} mappings"),
        };
        match (file, self.count) {
            (None, 0) => what,
            (None, _) => format!("{what} of {bytes}"),
            (Some(file), 0) => format!("{what} of {file}"),
            (Some(file), _) => format!("{what} of {file}, {bytes},"),
        }
    }
}

/// Bytes in the largest unit that tells them whole.
fn in_units(bytes: u64) -> String {
    for (shift, unit) in [(30, "GiB"), (20, "MiB"), (10, "KiB")] {
        let whole = bytes >> shift;
        if whole > 0 && whole << shift == bytes {
            return format!("{whole} {unit}");
        }
    }
    format!("{bytes} bytes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_told_whole() {
        let mut sizes = MappingSizes::default();
        assert_eq!(sizes.text(None), "mapping");
        sizes.add(64 << 20);
        assert_eq!(sizes.text(None), "mapping of 64 MiB");
        assert_eq!(sizes.text(Some("data.bin")), "mapping of data.bin, 64 MiB,");
        sizes.add(64 << 20);
        assert_eq!(sizes.text(None), "2 mappings of 64 MiB");
        sizes.resize((64 << 20) + 4096);
        assert_eq!(sizes.text(None), "2 mappings of 64 MiB to 65540 KiB");
        sizes.add(1001);
        assert_eq!(sizes.text(None), "3 mappings of 1001 bytes to 65540 KiB");
        let mut both = MappingSizes::default();
        both.join(sizes);
        both.join(MappingSizes::default());
        assert_eq!(both, sizes);
        both.join(MappingSizes { count: 2, least: 4096, most: 1 << 30 });
        assert_eq!(both.text(None), "5 mappings of 1001 bytes to 1 GiB");
        assert_eq!(in_units(3 << 30), "3 GiB");
        assert_eq!(in_units(0), "0 bytes");
    }
}
