//! What is known of a sampled access, as the Firefox Profiler shows it.

use fxprof_processed_profile::{
    CategoryHandle, MarkerFieldFlags, MarkerFieldFormat, Profile, StaticSchemaMarker,
    StaticSchemaMarkerField, StringHandle,
};

#[derive(Clone, Debug)]
pub(super) struct AccessMarker {
    pub(super) event: StringHandle,
    pub(super) address: StringHandle,
    /// In the order of the fields that follow the address.
    pub(super) texts: [StringHandle; 7],
    /// Cycles; 0: not known.
    pub(super) latency: u64,
    pub(super) category: CategoryHandle,
}

const fn text(key: &'static str, label: &'static str) -> StaticSchemaMarkerField {
    let (format, flags) = (MarkerFieldFormat::String, MarkerFieldFlags::SEARCHABLE);
    StaticSchemaMarkerField { key, label, format, flags }
}

impl StaticSchemaMarker for AccessMarker {
    const UNIQUE_MARKER_TYPE_NAME: &'static str = "access";
    const DESCRIPTION: Option<&'static str> = Some("A sampled access to memory");
    const TOOLTIP_LABEL: Option<&'static str> = Some("{marker.name}: {marker.data.level}");
    const TABLE_LABEL: Option<&'static str> = Some(
        "{marker.data.address} {marker.data.level} {marker.data.dataType}.{marker.data.member}",
    );
    const FIELDS: &'static [StaticSchemaMarkerField] = &[
        text("address", "Address"),
        text("level", "Level"),
        text("op", "Operation"),
        text("tlb", "TLB"),
        text("snoop", "Snoop"),
        text("dataType", "Type"),
        text("member", "Member"),
        text("data", "Data"),
        StaticSchemaMarkerField {
            key: "latency",
            label: "Latency, cycles",
            format: MarkerFieldFormat::Integer,
            flags: MarkerFieldFlags::empty(),
        },
    ];

    fn name(&self, _profile: &mut Profile) -> StringHandle {
        self.event
    }

    fn category(&self, _profile: &mut Profile) -> CategoryHandle {
        self.category
    }

    fn string_field_value(&self, field_index: u32) -> StringHandle {
        let behind = usize::try_from(field_index).ok().and_then(|index| index.checked_sub(1));
        let text = behind.and_then(|index| self.texts.get(index));
        text.copied().unwrap_or(self.address)
    }

    fn number_field_value(&self, _field_index: u32) -> f64 {
        // Of more than 2^32 cycles nothing is known but that they are many.
        u32::try_from(self.latency).unwrap_or(u32::MAX).into()
    }
}
