//! hardmeter's text records: one record a line, instruction pointer in
//! column 2.
