use super::*;

fn layout(text: &str) -> Result<ObjectLayout, String> {
    text.parse::<ObjectLayout>().map_err(|error| error.to_string())
}

#[test]
fn what_is_shown_is_what_is_read() {
    for (text, shown) in [
        ("rows=2k+64@0x4bb000+512k", "rows=2048+64@0x4bb000+524288"),
        ("align=64@0x10+8", "align=64@0x10+8"),
        ("COLOUR=8k@0x0+1m", "colour=8192@0x0+1048576"),
        ("split=64:0..8@0x40+640", "split=64:0..8@0x40+640"),
        ("pages=2M@0x7f0000000000+1g", "pages=2m@0x7f0000000000+1073741824"),
        ("apart=8@0x40+16", "apart=8@0x40+16"),
        ("order=24:16..24/4/0..8/12@0x40+48", "order=24:16..24/4/0..8/12@0x40+48"),
    ] {
        let read = layout(text).unwrap();
        assert_eq!(read.to_string(), shown);
        assert_eq!(layout(shown), Ok(read));
    }
}

#[test]
fn what_cannot_be_laid_out_is_refused() {
    for (text, about) in [
        ("", "is no change"),
        ("rows=64@0x0+8", "is no change"),
        ("rows=0+64@0x0+8", "is no change"),
        ("pages=1g@0x0+8", "is no change"),
        ("rows=2k+64", "is no object"),
        ("rows=2k+64@4bb000+512k", "is no object"),
        ("rows=2k+64@0x4bb000", "is no object"),
        ("rows=2k+64@0x4bb000+0", "is no object"),
        ("rows=2k+64@0x4bb000+1k", "more than its 1024"),
        ("align=48@0x0+64", "no power of two"),
        ("split=64:8..8@0x0+64", "no part"),
        ("split=64:8..72@0x0+64", "no part"),
        ("split=64:0..64@0x0+64", "nothing would be left"),
        ("order=24:16..25@0x0+48", "no part"),
        ("order=24:16..16@0x0+48", "is no change"),
        ("order=24:8@0x0+48", "is no change"),
        ("order=24@0x0+48", "is no change"),
        ("order=24:0..8/4..12@0x0+48", "bytes in common"),
        ("order=24:0..24@0x0+8", "more than its 8"),
        ("rows=8+1g@0x0+1g", "beyond the model's room"),
        ("align=8@0x7fffffffffff+2", "no memory"),
        ("align=8@0xffffffffffffffff+2", "no memory"),
    ] {
        let error = layout(text).unwrap_err();
        assert!(error.contains(about), "{text}: {error}");
    }
}

#[test]
fn bytes_have_one_layout() {
    let [first, second] = ["align=64@0x1000+64", "apart=8@0x1040+8"].map(|it| layout(it).unwrap());
    assert_eq!(ObjectLayout::overlapping(&[first, second]), None);
    let both = layout("pages=2m@0x103f+2").unwrap();
    assert_eq!(ObjectLayout::overlapping(&[first, both, second]), Some([first, both]));
    assert_eq!(ObjectLayout::overlapping(&[second, both]), Some([second, both]));
}
