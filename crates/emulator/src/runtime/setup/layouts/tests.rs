use super::*;
use proptest::prelude::*;
use std::collections::HashMap;

fn layout(text: &str) -> ObjectLayout {
    text.parse().unwrap()
}

/// Where the model has some bytes of an object, from where its first one is.
fn offsets(text: &str, bytes: &[u64]) -> Vec<i64> {
    let layout = layout(text);
    let object = moved(&layout, 0, &Geometry::default());
    let first = object.place(layout.start).unwrap().cast_signed();
    let place = |at: &u64| object.place(layout.start + at).unwrap().cast_signed() - first;
    bytes.iter().map(place).collect()
}

#[test]
fn bytes_are_where_the_changed_program_would_have_them() {
    let rows = offsets("rows=2048+64@0x4bb000+512k", &[0, 2047, 2048, 4096 + 8]);
    assert_eq!(rows, [0, 2047, 2112, 2 * 2112 + 8]);
    // 64 sets: a way is 4 KiB.
    let colours = offsets("colour=8192@0x4bb000+1m", &[0, 8192, 8192 * 65 + 8]);
    assert_eq!(colours, [0, 8192 + 4096 + 64, 65 * (8192 + 4096) + 64 + 8]);
    // The part is behind the rest of all rows: 100 times 56 bytes.
    let split = offsets("split=64:8..16@0x40000000+6400", &[0, 7, 16, 64, 8, 15, 64 + 8]);
    assert_eq!(split, [0, 7, 8, 56, 5632, 5632 + 7, 5632 + 8]);
    assert_eq!(offsets("apart=8@0x40000010+16", &[0, 7, 8, 15]), [0, 7, 64, 71]);
    // Rows of 24 bytes, of which 8..16 are in no piece, behind two of 28.
    let order = offsets("order=24:16..24/4/0..8/8@0x40000000+48", &[16, 0, 7, 24 + 16, 8, 24 + 15]);
    let first = order[0];
    let from_row: Vec<i64> = order.iter().map(|at| at - first).collect();
    assert_eq!(from_row, [0, 12, 19, 28, 64 + 8, 64 + 24 + 15]);
    let begins = |text: &str| {
        let layout = layout(text);
        moved(&layout, 3, &Geometry::default()).place(layout.start).unwrap()
    };
    assert_eq!(begins("rows=8+8@0x4bb018+512k") % (1 << 30), 0x4b_b018, "as it was");
    assert_eq!(begins("align=64@0x4bb018+512k") % (1 << 30), 0x4b_b040);
    assert_eq!(begins("pages=2m@0x4bb018+512k") % (1 << 30), 0x60_0000);
    let object = moved(&layout("align=64@0x4bb018+512k"), 0, &Geometry::default());
    assert_eq!(object.place(0x4b_b017), None);
    assert_eq!(object.place(0x4b_b018 + (512 << 10)), None);
}

fn change() -> impl Strategy<Value = LayoutChange> {
    let stride = 1_u64..300;
    prop_oneof![
        (stride.clone(), 1_u64..100).prop_map(|(stride, more)| LayoutChange::Rows { stride, more }),
        (0_u32..12).prop_map(|power| LayoutChange::Align(1 << power)),
        stride.clone().prop_map(|stride| LayoutChange::Colour { stride }),
        (2_u64..300, any::<(u64, u64)>()).prop_map(|(stride, (from, length))| {
            let from = from % stride;
            let to = from + 1 + length % (stride - from);
            let to = if from == 0 { to.min(stride - 1) } else { to };
            LayoutChange::Split { stride, from, to }
        }),
        Just(LayoutChange::LargePages),
        stride.clone().prop_map(LayoutChange::Apart),
        (stride, 1_u64..70, 1_u64..70).prop_map(|(stride, cut, more)| {
            let cut = cut.min(stride - 1);
            let text = match cut {
                0 => format!("order={stride}:0..{stride}/{more}"),
                _ => format!("order={stride}:{cut}..{stride}/{more}/0..{cut}"),
            };
            text.parse().unwrap()
        }),
    ]
}

proptest! {
    /// No two bytes of objects are in one place, none in a program's, and what
    /// is shown is read.
    #[test]
    fn each_byte_has_a_place_of_its_own(
        changes in prop::collection::vec((change(), 0_u64..1 << 40, 300_u64..2000), 1..4),
    ) {
        let mut taken = HashMap::new();
        for (number, &(change, start, size)) in (0..).zip(&changes) {
            let layout = ObjectLayout { start, size, change };
            prop_assert_eq!(layout.to_string().parse(), Ok(layout));
            let object = moved(&layout, number, &Geometry::default());
            for at in 0..size {
                let place = object.place(start + at).unwrap();
                prop_assert!((1 << 47..1 << 48).contains(&place), "{:#x}", place);
                prop_assert_eq!(taken.insert(place, (number, at)), None);
            }
        }
    }
}
