//! What a browser may do with the page: apply its style, run its script, and
//! nothing else. It loads nothing.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

pub(crate) const STYLE: &str = include_str!("page.css");
/// The page's script: search, zoom, order of tables.
pub(crate) const SCRIPT: &str = include_str!("page.js");

/// The content security policy, which names both by their hashes.
pub(crate) fn policy() -> String {
    format!(
        "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'; img-src data:; base-uri \
         'none'; form-action 'none'",
        hash(STYLE),
        hash(SCRIPT)
    )
}

fn hash(text: &str) -> String {
    STANDARD.encode(Sha256::digest(text.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_of_the_standard() {
        // FIPS 180-2, B.1.
        assert_eq!(hash("abc"), "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=");
    }

    #[test]
    fn neither_ends_its_element() {
        for text in [STYLE, SCRIPT] {
            assert!(!text.contains("</") && !text.contains("<!--"), "{text}");
            assert!(!text.contains("http:") && !text.contains("https:"), "it loads something");
        }
    }
}
