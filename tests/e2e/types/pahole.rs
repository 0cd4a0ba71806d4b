//! What pahole prints, and whether it is what we tell.

use serde_json::Value;

/// A structure or union as pahole prints it.
#[derive(Debug)]
pub(super) struct PaholeType {
    pub(super) name: String,
    /// Not told of unions.
    size: Option<u64>,
    members: Vec<PlacedMember>,
}

/// A member: of a type without a name, each of its own, too.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PlacedMember {
    name: String,
    /// Bits from the start of the whole.
    bit: u64,
    /// Bytes of its type.
    size: u64,
}

/// A name without what it is in.
pub(super) fn own_name(full: &str) -> &str {
    let (mut depth, mut start) = (0_i32, 0);
    for (at, c) in full.char_indices() {
        match c {
            '<' | '(' | '{' => depth += 1,
            '>' | ')' | '}' => depth -= 1,
            ':' if depth == 0 => start = at + 1,
            _ => {}
        }
    }
    &full[start..]
}

impl PaholeType {
    pub(super) fn parse(text: &str) -> Vec<PaholeType> {
        let mut all = Vec::new();
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            let Some(head) = head(line) else { continue };
            let body: Vec<&str> =
                lines.by_ref().take_while(|line| !line.starts_with('}')).collect();
            all.extend(PaholeType::of(head, &body));
        }
        all
    }

    fn of(name: String, body: &[&str]) -> Option<PaholeType> {
        let mut size = None;
        let mut open: Vec<Vec<PlacedMember>> = vec![Vec::new()];
        for line in body {
            let line = line.trim();
            if line.ends_with('{') {
                open.push(Vec::new());
            } else if open.len() == 1 && line.starts_with("/* size: ") {
                size = line.split([' ', ',']).nth(2).and_then(|word| word.parse().ok());
            }
            let placed = placed(line);
            if line.starts_with('}') {
                // What has no place is a type that was defined within.
                let inner = open.pop()?;
                // Nor is what a pointer leads to a part.
                let is_part = placed.is_some() && !line.starts_with("} *");
                if let (true, Some(outer)) = (is_part, open.last_mut()) {
                    outer.extend(inner);
                }
            }
            open.last_mut()?.extend(placed);
        }
        Some(PaholeType { name, size, members: open.pop()? })
    }
}

/// The name of a type that begins.
fn head(line: &str) -> Option<String> {
    let keywords = ["struct ", "class ", "union "];
    let rest = keywords.iter().find_map(|word| line.strip_prefix(word))?.strip_suffix('{')?;
    let rest = rest.trim_end();
    let end = rest.find(" : ").unwrap_or(rest.len());
    Some(rest[..end].to_owned())
}

/// A line with a place behind it.
fn placed(line: &str) -> Option<PlacedMember> {
    let (text, place) = line.strip_suffix("*/")?.rsplit_once("/*")?;
    let numbers: Option<Vec<u64>> =
        place.split([' ', ':']).filter(|it| !it.is_empty()).map(|it| it.parse().ok()).collect();
    let (bit, size) = match numbers?[..] {
        [offset, size] => (offset * 8, size),
        [offset, first, size] => (offset * 8 + first, size),
        _ => return None,
    };
    Some(PlacedMember { name: name_in(text), bit, size })
}

fn without_attributes(text: &str) -> String {
    let Some((before, rest)) = text.split_once("__attribute__") else { return text.to_owned() };
    let mut depth = 0;
    let closes = |c: char| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        c == ')' && depth == 0
    };
    let end = rest.find(closes).map_or(rest.len(), |end| end + 1);
    format!("{before} {}", without_attributes(&rest[end..]))
}

fn name_in(text: &str) -> String {
    if text.contains("<ancestor>") {
        return "<base>".to_owned();
    }
    let text = without_attributes(text.trim().trim_end_matches(';'));
    let text = text.trim_end();
    if let Some((_, pointer)) = text.split_once("(*") {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        return pointer.split(|c| !is_word(c)).next().unwrap_or_default().to_owned();
    }
    let text = text.strip_prefix('}').unwrap_or(text);
    let text = match text.rsplit_once(':') {
        Some((before, bits)) if bits.parse::<u64>().is_ok() => before,
        _ => text,
    };
    let text = match (text.ends_with(']'), text.find('[')) {
        (true, Some(start)) if !text.contains(' ') || start > text.rfind(' ').unwrap_or(0) => {
            &text[..start]
        }
        _ => text,
    };
    text.rsplit([' ', '*', '&']).next().unwrap_or_default().to_owned()
}

/// The members of one of our types, in order.
pub(super) fn flattened(ours: &Value) -> Vec<PlacedMember> {
    let mut all = Vec::new();
    for member in ours["members"].as_array().into_iter().flatten() {
        all.extend(flattened(member));
        let Some(offset) = member["offset"].as_u64() else { continue };
        let name = match member["sort"].as_str() {
            Some("base" | "virtual-base") => "<base>",
            _ => member["name"].as_str().unwrap_or_default(),
        };
        let bit = offset * 8 + member["bit_offset"].as_u64().unwrap_or(0);
        let size = member["size"].as_u64().unwrap_or(0);
        all.push(PlacedMember { name: name.to_owned(), bit, size });
    }
    all.sort();
    all
}

/// Whether both tell of the same layout, but for what pahole 1.24 gets wrong.
pub(super) fn same_type(ours: &Value, theirs: &PaholeType) -> bool {
    if theirs.size.is_some_and(|size| ours["size"] != size) {
        return false;
    }
    let members = || ours["members"].as_array().into_iter().flatten();
    // It does not read them.
    if members().any(|member| member["sort"] == "variant") {
        return true;
    }
    let has_virtual = members().any(|member| member["sort"] == "virtual-base");
    let to_members: Vec<&Value> = members()
        .filter(|member| member["type"].as_str().is_some_and(|of| of.contains("::*")))
        .map(|member| &member["name"])
        .collect();
    let alike = |mut all: Vec<PlacedMember>| {
        // It takes numbers out of the expressions that lead to virtual bases,
        all.retain(|one| !(has_virtual && one.name == "<base>"));
        for one in &mut all {
            // sizes of what they point to for those of pointers to members,
            let is_pointer = to_members.iter().any(|name| **name == *one.name);
            // and 0 for an empty base's.
            if is_pointer || (one.name == "<base>" && one.size <= 1) {
                one.size = 0;
            }
        }
        all.sort();
        all
    };
    alike(flattened(ours)) == alike(theirs.members.clone())
}
