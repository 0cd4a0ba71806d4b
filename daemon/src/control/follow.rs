//! Who is to read a standing session, and what: from the supervisor to the
//! worker that keeps it.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// What a reader wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Follow {
    /// From so long ago on; None: nothing of what was recorded, if live
    /// records are wanted, else all.
    pub(crate) since: Option<Duration>,
    /// What is sampled from now on.
    pub(crate) live: bool,
    /// Who reads; None: the superuser, or who started the daemon, whom no
    /// other readers keep out.
    pub(crate) reader: Option<u32>,
}
