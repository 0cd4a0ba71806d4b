/// Rust text in which comments and the contents of string and character
/// literals are blanks. Line breaks stay, so line numbers still hold.
pub(crate) fn code_only(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while at < chars.len() {
        let end = match chars[at] {
            '/' if chars.get(at + 1) == Some(&'/') => line_end(&chars, at),
            '/' if chars.get(at + 1) == Some(&'*') => block_end(&chars, at),
            '"' => string_end(&chars, at + 1),
            'r' if !follows_word(&chars, at) => raw_end(&chars, at).unwrap_or(at),
            '\'' => char_end(&chars, at).unwrap_or(at),
            _ => at,
        };
        if end == at {
            out.push(chars[at]);
            at += 1;
        } else {
            out.extend(chars[at..end].iter().map(|&c| if c == '\n' { '\n' } else { ' ' }));
            at = end;
        }
    }
    out
}

/// The words (identifiers and keywords) of a text with their line numbers.
pub(crate) fn words(code: &str) -> impl Iterator<Item = (usize, &str)> {
    code.lines().enumerate().flat_map(|(index, line)| {
        line.split(|c: char| !(c.is_alphanumeric() || c == '_'))
            .filter(|word| !word.is_empty())
            .map(move |word| (index + 1, word))
    })
}

fn line_end(chars: &[char], from: usize) -> usize {
    chars[from..].iter().position(|&c| c == '\n').map_or(chars.len(), |n| from + n)
}

fn block_end(chars: &[char], from: usize) -> usize {
    let mut depth = 0;
    let mut at = from;
    while at + 1 < chars.len() {
        match (chars[at], chars[at + 1]) {
            ('/', '*') => (depth, at) = (depth + 1, at + 2),
            ('*', '/') if depth == 1 => return at + 2,
            ('*', '/') => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
    }
    chars.len()
}

fn string_end(chars: &[char], mut at: usize) -> usize {
    while at < chars.len() {
        match chars[at] {
            '\\' => at += 2,
            '"' => return at + 1,
            _ => at += 1,
        }
    }
    chars.len()
}

/// The end of `r"..."` or `r#"..."#`; `r#name` is no string.
fn raw_end(chars: &[char], from: usize) -> Option<usize> {
    let hashes = chars[from + 1..].iter().take_while(|&&c| c == '#').count();
    let open = from + 1 + hashes;
    if chars.get(open) != Some(&'"') {
        return None;
    }
    let mut at = open + 1;
    while at < chars.len() {
        let close = &chars[at + 1..chars.len().min(at + 1 + hashes)];
        if chars[at] == '"' && close.len() == hashes && close.iter().all(|&c| c == '#') {
            return Some(at + 1 + hashes);
        }
        at += 1;
    }
    Some(chars.len())
}

/// The end of a character literal; a lifetime is none.
fn char_end(chars: &[char], from: usize) -> Option<usize> {
    if chars.get(from + 1) == Some(&'\\') {
        let close = chars.get(from + 3..)?.iter().position(|&c| c == '\'')?;
        return Some(from + 3 + close + 1);
    }
    (chars.get(from + 2) == Some(&'\'')).then_some(from + 3)
}

/// Whether the character ends a word, as the `r` of `for"` would; `br"` is
/// the one word that starts a raw string.
fn follows_word(chars: &[char], at: usize) -> bool {
    let Some(&before) = at.checked_sub(1).and_then(|n| chars.get(n)) else { return false };
    let word = |c: char| c.is_alphanumeric() || c == '_';
    let byte_string =
        before == 'b' && !at.checked_sub(2).and_then(|n| chars.get(n)).is_some_and(|&c| word(c));
    word(before) && !byte_string
}

#[test]
fn comments_and_literals_are_blanked() {
    let text = concat!(
        "let a = \"unsafe\"; // unsafe\n",
        "/* unsafe /* nested */ unsafe */ let b = r#\"unsafe \" \"#;\n",
        "let c = '\"'; let d = '\\''; let e: &'static str = \"\\\" unsafe\";\n",
        "let f = br\"unsafe\"; let r#type = b\"unsafe\"; unsafe { g() }\n",
    );
    let code = code_only(text);
    let found: Vec<_> = words(&code).filter(|(_, word)| *word == "unsafe").collect();
    assert_eq!(found, [(4, "unsafe")]);
    assert_eq!(code.lines().count(), text.lines().count());
    assert!(words(&code).any(|(line, word)| (line, word) == (3, "static")));
}
