//! perf.data in pipe form: the one stream format of hardmeter.
