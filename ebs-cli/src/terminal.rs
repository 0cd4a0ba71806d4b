//! The user's end of a command: `said` is what it says on stderr,
//! [`causes`] words an error, [`style`] is how stdout shows tables,
//! `grammar` is what both grammars share; [`signals`] are what ends it,
//! `progress` how far it is, and [`debuginfod`] shows how downloads go.

pub mod causes;
pub mod debuginfod;
pub(crate) mod grammar;
pub(crate) mod progress;
pub(crate) mod said;
pub mod signals;
pub mod style;
