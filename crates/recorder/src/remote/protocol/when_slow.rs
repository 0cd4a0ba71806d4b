//! What becomes of slow clients.

use serde::{Deserialize, Serialize};

/// What is done about a client that takes its records too slowly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WhenSlow {
    /// The newest samples are dropped, counted, and the gap is in the
    /// stream.
    #[default]
    DropNewest,
    /// The client is disconnected.
    Disconnect,
}
