//! A control frame of a client: a request, or one of a newer version.

use serde::Deserialize;

use super::Verb;

#[derive(Clone, Debug, PartialEq)]
pub enum ClientRequest {
    Known(Verb),
    /// A verb that this version does not have, as far as it is worth
    /// repeating.
    Unknown(String),
    /// A verb of this version that lacks something, or asks for what only
    /// another version has: why.
    Wrong(String),
}

const VERBS: [&str; 11] = [
    "hello",
    "types",
    "plan",
    "start",
    "attach",
    "stats",
    "set_interval",
    "stop",
    "sessions",
    "standing",
    "follow",
];

const REPEATED: usize = 40;

#[derive(Deserialize)]
struct VerbName {
    verb: String,
}

/// Reads the payload of a control frame.
///
/// # Errors
/// No JSON object with a verb.
pub fn request(payload: &[u8]) -> Result<ClientRequest, serde_json::Error> {
    let error = match serde_json::from_slice(payload) {
        Ok(verb) => return Ok(ClientRequest::Known(verb)),
        Err(error) => error,
    };
    match serde_json::from_slice::<VerbName>(payload) {
        Ok(VerbName { verb }) if !VERBS.contains(&verb.as_str()) => {
            Ok(ClientRequest::Unknown(verb.escape_debug().take(REPEATED).collect()))
        }
        Ok(VerbName { verb }) => Ok(ClientRequest::Wrong(brief(&format!("{verb}: {error}")))),
        Err(_) => Err(error),
    }
}

/// An error may repeat what it is about.
fn brief(error: &str) -> String {
    const MAX_QUOTED: usize = 300;
    match error.char_indices().nth(MAX_QUOTED) {
        Some((end, _)) => format!("{}...", &error[..end]),
        None => error.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verbs_of_newer_clients_are_told_from_nonsense() {
        assert_eq!(request(br#"{"verb":"types"}"#).unwrap(), ClientRequest::Known(Verb::Types));
        let newer = request(br#"{"verb":"replay","from":{"deep":[1,2]}}"#).unwrap();
        assert_eq!(newer, ClientRequest::Unknown("replay".into()));
        let long = format!("{{\"verb\":\"{}\\u001b[2J\"}}", "x".repeat(60_000));
        assert_eq!(request(long.as_bytes()).unwrap(), ClientRequest::Unknown("x".repeat(REPEATED)));
        let escaped = request(br#"{"verb":"a\n\u001b"}"#).unwrap();
        assert_eq!(escaped, ClientRequest::Unknown("a\\n\\u{1b}".into()));
        for wrong in [
            &br#"{"verb":"stop"}"#[..],
            br#"{"verb":"stop","session":-1}"#,
            br#"{"verb":"start","job":{"event":"x"},"target":"everything"}"#,
        ] {
            let asked = request(wrong).unwrap();
            assert!(
                matches!(asked, ClientRequest::Wrong(_)),
                "{}: {asked:?}",
                wrong.escape_ascii()
            );
        }
        for nonsense in [&br#"{"verb":"types","verb":"types"}"#[..], br#"{"verb":7}"#, b"\xff\xfe"]
        {
            assert!(request(nonsense).is_err(), "{}", nonsense.escape_ascii());
        }
    }

    #[test]
    fn nesting_without_end_is_refused() {
        let deep = format!("{{\"verb\":\"types\",\"x\":{}", "[".repeat(60_000));
        assert!(request(deep.as_bytes()).is_err());
    }

    #[test]
    fn every_verb_of_this_version_is_listed() {
        // Without its fields each is known all the same.
        for verb in VERBS {
            let text = format!("{{\"verb\":\"{verb}\"}}");
            match request(text.as_bytes()) {
                Ok(ClientRequest::Known(_)) => {}
                Ok(ClientRequest::Wrong(why)) => assert!(why.contains("missing field"), "{why}"),
                other => panic!("{verb}: {other:?}"),
            }
        }
    }
}
