//! The closed table of event types: what each counts and how it is opened.
