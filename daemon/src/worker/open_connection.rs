//! A connection is counted as long as it is served.

use std::rc::Rc;

use super::Hub;

/// A connection that is counted, here and by the supervisor, until this is
/// dropped.
#[derive(Debug)]
pub(crate) struct OpenConnection(pub(super) Rc<Hub>);

impl OpenConnection {
    pub(crate) fn new(hub: &Rc<Hub>) -> OpenConnection {
        hub.connections.update(|connections| connections + 1);
        OpenConnection(Rc::clone(hub))
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.0.connections.update(|connections| connections - 1);
        self.0.forget_ended();
        self.0.broker.closed();
    }
}
