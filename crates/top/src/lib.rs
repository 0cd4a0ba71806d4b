//! A live view of where a program misses: what is counted comes in as
//! reports, one an interval; keys come in; cells of a terminal come out.
//!
//! - [`sampled_keys`]: what a report must be counted by to be shown.
//! - [`TopView`]: what is seen, as a machine of states: no terminal, no clock,
//!   no file. [`TopView::add`] takes an interval, [`TopView::press`] a key and
//!   answers with a [`TopAction`], [`draw()`] fills a frame.
//! - [`TopScreen`]: the edge to the terminal: raw mode, the alternate screen,
//!   and the way back, whatever ends the program but SIGKILL.
//!
//! `totals` adds up intervals by the cells of a row, `seen_rows` makes of them
//! the rows of one [`ViewKind`], `view_order` puts these in order.
//! `key_bytes` makes keys of what a terminal sends, `top_backend` sends it
//! what has changed.

#[cfg(test)]
mod counted_report;
mod draw;
mod interval_count;
mod key_bytes;
mod seen_rows;
#[allow(unsafe_code, reason = "a handler of signals; each block says why it holds")]
mod sys;
mod top_backend;
mod top_screen;
mod top_view;
mod totals;
mod view_kind;
mod view_order;
mod zoom_text;

pub use draw::draw;
pub use key_bytes::TopKey;
pub use top_screen::{ScreenEvent, TopScreen};
pub use top_view::{SourceState, TopAction, TopView};
pub use totals::MOST_ROWS;
pub use view_kind::{ViewKind, sampled_keys};
pub use view_order::ViewOrder;
