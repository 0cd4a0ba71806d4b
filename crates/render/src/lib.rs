//! One table in all forms: text, CSV, JSON, HTML. Plain data in, text out; no
//! file, no terminal.
//!
//! - [`Table`]: what each column is called ([`Head`]), and rows of [`Cell`]s.
//! - [`Column`]: a head, and the value that a row of some type has there. A list
//!   of them is the one place where such a column is defined.
//! - [`CsvTable`]: rows as they come. [`row_entries`]: a row as an object of
//!   JSON. [`HtmlText`]: words of others in markup.
//!
//! The rooms, each of which uses those before it: `cell`, `table`; then a file a
//! form: `text`, `csv_table`, `json`, `html_text` and `html`.

#![warn(missing_docs)]

mod cell;
mod csv_table;
mod html;
mod html_text;
mod json;
mod table;
mod text;

pub use cell::{Cell, percent};
pub use csv_table::{CsvNames, CsvTable};
pub use html_text::HtmlText;
pub use json::row_entries;
pub use table::{Align, Column, Head, Table};
pub use text::{columns, cut};
