//! Reports and annotations as text.

pub mod annotation;
pub mod causes;
pub mod csv;
pub mod curves;
mod diff_columns;
pub mod diff_csv;
pub mod folded;
pub(crate) mod hindrances;
pub mod json;
pub mod plot;
pub(crate) mod row_table;
pub mod sharing;
pub mod table;
