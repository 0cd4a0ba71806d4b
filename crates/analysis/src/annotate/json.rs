//! An annotation as JSON: addresses as hex strings, as in reports.

use super::{Annotation, Details, Heat, HotInstruction, InstructionLine, ListingItem};
use crate::name::cell::hex;
use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};
use std::fmt::Write;
use symbolizer::Frame;

/// For `serialize_with`.
#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde gives references")]
pub(super) fn hexadecimal<S: Serializer>(address: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&hex(*address))
}

impl Serialize for Annotation {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("hardmeter_annotation", &Annotation::VERSION)?;
        map.serialize_entry("routine", &*self.routine.name)?;
        map.serialize_entry("object", &*self.routine.object)?;
        map.serialize_entry("start", &hex(self.routine.start))?;
        map.serialize_entry("end", &hex(self.routine.end))?;
        map.serialize_entry("notes", &self.notes)?;
        map.serialize_entry("code", &self.items)?;
        let name = |index: usize| self.report.events.get(index).map(|event| event.name.as_str());
        let events = self.events.iter().enumerate();
        let events: Vec<Named<'_>> =
            events.map(|(index, heat)| Named(name(index).unwrap_or(""), heat)).collect();
        map.serialize_entry("events", &events)?;
        map.serialize_entry("report", &self.report)?;
        map.end()
    }
}

impl Annotation {
    /// Counts up when a field changes its meaning or goes; new fields do
    /// not count.
    pub const VERSION: u32 = 1;
}

impl Serialize for ListingItem {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            ListingItem::Line(line) => line.serialize(serializer),
            ListingItem::Gap { start, end, instructions } => {
                let mut map = serializer.serialize_map(Some(3))?;
                map.serialize_entry("left_out", instructions)?;
                map.serialize_entry("start", &hex(*start))?;
                map.serialize_entry("end", &hex(*end))?;
                map.end()
            }
        }
    }
}

impl Serialize for InstructionLine {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("address", &hex(self.address))?;
        let bytes = self.bytes.iter().fold(String::new(), |mut text, byte| {
            // Writing to a String cannot fail.
            let _ = write!(text, "{byte:02x}");
            text
        });
        map.serialize_entry("bytes", &bytes)?;
        map.serialize_entry("text", &self.text)?;
        if let Some(target) = &self.target {
            map.serialize_entry("target", target)?;
        }
        map.serialize_entry("type", &self.data.as_ref().map(|data| &data.of))?;
        map.serialize_entry("member", &self.data.as_ref().map(|data| &data.member))?;
        if let Some(others) = self.data.as_ref().map(|data| data.others).filter(|it| *it > 0) {
            map.serialize_entry("other_members", &others)?;
        }
        map.serialize_entry("frames", &Frames(&self.frames))?;
        map.end()
    }
}

/// The innermost first.
struct Frames<'f>(&'f [Frame]);

impl Serialize for Frames<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut all = serializer.serialize_seq(Some(self.0.len()))?;
        for frame in self.0 {
            let source = frame.source.as_ref();
            all.serialize_element(&serde_json::json!({
                "routine": frame.name.as_deref(),
                "file": source.map(|source| &*source.file),
                "line": source.map(|source| source.line).filter(|line| *line > 0),
                "column": source.map(|source| source.column).filter(|column| *column > 0),
                "inlined": frame.inlined,
            }))?;
        }
        all.end()
    }
}

struct Named<'h>(&'h str, &'h Heat);

impl Serialize for Named<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Named(name, heat) = self;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("event", name)?;
        map.serialize_entry("count", &heat.count)?;
        map.serialize_entry("period", &heat.period)?;
        map.serialize_entry("share", &heat.share)?;
        map.serialize_entry("exact_ip", &heat.exact)?;
        map.serialize_entry("reading", &heat.reading)?;
        let of = |(address, hot)| At(address, hot);
        let hot: Vec<At<'_>> = heat.hot.iter().map(of).collect();
        map.serialize_entry("instructions", &hot)?;
        let misplaced = heat.misplaced.iter().map(|(address, count)| (hex(*address), count));
        let misplaced: std::collections::BTreeMap<String, &u64> = misplaced.collect();
        map.serialize_entry("misplaced", &misplaced)?;
        map.end()
    }
}

struct At<'h>(&'h u64, &'h HotInstruction);

impl Serialize for At<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let At(address, hot) = self;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("address", &hex(**address))?;
        map.serialize_entry("count", &hot.count)?;
        map.serialize_entry("period", &hot.period)?;
        map.serialize_entry("share", &hot.share)?;
        map.serialize_entry("exact_ip", &hot.exact)?;
        map.serialize_entry("cause", &hot.cause)?;
        if let Some(Details { access, findings, registers, facts, variables, levels, addresses }) =
            &hot.details
        {
            map.serialize_entry("access", access)?;
            map.serialize_entry("findings", findings)?;
            map.serialize_entry("registers", registers)?;
            map.serialize_entry("facts", facts)?;
            map.serialize_entry("variables", &pairs(variables, "name"))?;
            map.serialize_entry("levels", &pairs(levels, "level"))?;
            map.serialize_entry("addresses", addresses)?;
        }
        map.end()
    }
}

fn pairs(counts: &[(String, u64)], what: &str) -> Vec<serde_json::Value> {
    let pair = |(name, count): &(String, u64)| serde_json::json!({ what: name, "count": count });
    counts.iter().map(pair).collect()
}
