//! Who called, by chains that the kernel recorded.

use crate::recording::{Hit, KERNEL, Recording, USER, page_faults, task, usual_fields};
use crate::report;
use analysis::report::{CallTree, Cell, Row};
use analysis::{
    ChainView, Filter, FrameCut, Glob, Key, Query, Report, TreeOrder, TreeQuery, csv, folded, table,
};
use perfdata::bytes::RecordWords;
use perfdata::{Attr, AttrFlags, ByteOrder, SampleType, SidebandRecord};
use proptest::prelude::*;

const IN_KERNEL: u64 = perfdata::ChainContext::KERNEL.0;
const OF_USER: u64 = perfdata::ChainContext::USER.0;
const COPY: u64 = 0xffff_ffff_8100_1000;
const CLEAR: u64 = 0xffff_ffff_8100_1100;

/// Of `clear_page_erms` one hit that `copy_page` called, one that it called
/// itself, one from user space, one without a caller.
fn recording(fields: SampleType) -> Recording {
    let mut stream = Recording::new(&[(page_faults(fields), "page_fault")]);
    stream.comm(task(1, 1), 0, "make", true);
    stream.map(task(1, 1), 0, 0x1000..0x2000, "//anon");
    for chain in [
        // Returns to where the next routine begins.
        vec![IN_KERNEL, CLEAR + 4, CLEAR],
        vec![IN_KERNEL, CLEAR + 4, CLEAR + 8, COPY + 5],
        vec![IN_KERNEL, CLEAR + 4, OF_USER, 0x1010],
        vec![IN_KERNEL, CLEAR + 4],
        vec![],
    ] {
        stream.hit(&Hit { chain, ..Hit::new(KERNEL, CLEAR + 4, task(1, 1), 9) });
    }
    stream.hit(&Hit { chain: vec![OF_USER, 0x1010], ..Hit::new(USER, 0x1010, task(1, 1), 9) });
    stream
}

fn by(keys: &str, fields: SampleType) -> analysis::Report {
    let keys = Key::parse_list(keys).unwrap();
    report(Query { keys, ..Query::default() }, &recording(fields).bytes).unwrap()
}

#[test]
fn the_caller_is_the_first_of_another_name() {
    let report = by("routine,caller", usual_fields() | SampleType::CALLCHAIN);
    let rows: Vec<String> = report.events[0]
        .rows
        .iter()
        .map(|row| {
            let words = row.cells.iter().map(|cell| match cell {
                Cell::Text(text) => text.to_string(),
                _ => "-".to_owned(),
            });
            format!("{} {}", row.count, words.collect::<Vec<_>>().join(" < "))
        })
        .collect();
    let expected = [
        "2 clear_page_erms < copy_page",
        "1 clear_page_erms < -",
        "1 clear_page_erms < [anonymous] //anon",
        "1 - < -",
    ];
    for row in expected {
        assert!(rows.iter().any(|it| it == row), "{row}: {rows:#?}");
    }
    assert_eq!(report.events[0].totals.counted, 6);
    let text = table::render(&report, table::Style::default());
    assert!(text.contains("[no-caller]") && text.contains("[no-chain]"), "{text}");
}

/// `count key < key`, as many as there are rows, and all counted samples.
fn told(query: Query) -> (Vec<String>, u64) {
    let fields = usual_fields() | SampleType::CALLCHAIN;
    let report = report(query, &recording(fields).bytes).unwrap();
    let event = &report.events[0];
    assert_eq!(
        event.totals.counted,
        event.rows.iter().map(|row| row.count).sum::<u64>(),
        "rows add up to what was counted"
    );
    assert_eq!(event.totals.samples, event.totals.counted + event.totals.filtered);
    let rows = event.rows.iter().map(|row| {
        let words = row.cells.iter().map(|cell| match cell {
            Cell::Text(text) => text.to_string(),
            Cell::Chain(chain) => report.chains.folded(*chain),
            Cell::Site(site) => format!("{:x}", site.address),
            Cell::Missing(missing) | Cell::SiteMissing(missing) => format!("[{missing}]"),
            other => format!("{other:?}"),
        });
        format!("{} {}", row.count, words.collect::<Vec<_>>().join(" < "))
    });
    let mut rows: Vec<String> = rows.collect();
    rows.sort_unstable();
    (rows, event.totals.counted)
}

fn cut_by(keys: &str, frames: FrameCut) -> Query {
    Query { keys: Key::parse_list(keys).unwrap(), frames, ..Query::default() }
}

#[test]
fn sites_move_to_the_first_frame_outside() {
    let outside = vec![Glob::new("clear_page*"), Glob::new("nothing")];
    let frames = FrameCut { outside, ..FrameCut::default() };
    let (rows, counted) = told(cut_by("site", frames.clone()));
    let inside = "[all frames of the chain are what --outside leaves out]";
    let expected = [
        format!("1 {inside}"),
        "1 [no call chain]".to_owned(),
        // Instructions that called.
        "1 ffffffff81001004".to_owned(),
        "1 ffffffff810010ff".to_owned(),
        "2 1010".to_owned(),
    ];
    assert_eq!((rows, counted), (expected.to_vec(), 6));
    let (rows, _) = told(cut_by("routine,object,caller", frames));
    assert!(rows.iter().any(|row| row.starts_with("2 copy_page < [kernel] < ")), "{rows:#?}");
    let all = FrameCut { outside: vec![Glob::new("[kernel]")], ..FrameCut::default() };
    let (rows, _) = told(cut_by("routine", all));
    assert!(rows.iter().any(|row| *row == format!("3 {inside}")), "{rows:#?}");
}

#[test]
fn chains_are_looked_at_from_a_routine_outwards_or_inwards() {
    let of = |glob: &str| Some(Glob::new(glob));
    let callers = FrameCut { callers: of("clear_page_erms"), ..FrameCut::default() };
    let (rows, counted) = told(cut_by("caller", callers));
    let expected =
        ["1 [anonymous] //anon", "1 [the recorded chain has no more frames]", "2 copy_page"];
    assert_eq!((rows, counted), (expected.map(str::to_owned).to_vec(), 4));
    let callees = FrameCut { callees: of("copy_page"), ..FrameCut::default() };
    let (rows, _) = told(cut_by("callee", callees.clone()));
    assert_eq!(rows, ["2 clear_page_erms"]);
    let (rows, _) = told(cut_by("stack", callees));
    let expected = ["1 copy_page;clear_page_erms", "1 copy_page;clear_page_erms;clear_page_erms"];
    assert_eq!(rows, expected);
    let own = FrameCut { callees: of("clear_*"), ..FrameCut::default() };
    assert_eq!(told(cut_by("callee", own.clone())).0, ["4 [in the routine itself]"]);
    let rows = told(cut_by("stack", own)).0;
    assert_eq!(rows, ["1 clear_page_erms;clear_page_erms", "3 clear_page_erms"]);
    let both =
        FrameCut { callers: of("copy_page"), callees: of("copy_page"), ..FrameCut::default() };
    assert_eq!(told(cut_by("stack", both)).0, ["2 copy_page"]);
    let none = FrameCut { callers: of("x"), ..FrameCut::default() };
    assert_eq!(told(cut_by("stack", none)), (Vec::new(), 0));
}

#[test]
fn filters_look_at_any_frame() {
    for (filter, counted) in [
        ("frame=copy_page", 2),
        ("frame!=copy_page", 3),
        ("frame=clear_*", 4),
        ("frame=//anon", 2),
        ("frame=[kernel] and frame!=//anon", 3),
        ("frame=nothing", 0),
    ] {
        let filters = Filter::parse_all(filter).unwrap();
        let (_, found) = told(Query { filters, ..cut_by("routine", FrameCut::default()) });
        assert_eq!(found, counted, "{filter}");
    }
}

#[test]
fn a_callee_wants_the_routine_that_called_it() {
    let error = cut_by("callee", FrameCut::default()).check().unwrap_err();
    assert!(error.to_string().contains("add --callees"), "{error}");
}

/// As many frames as there are, whatever threads are called.
#[test]
fn a_name_is_one_frame_of_a_folded_stack() {
    let mut stream = Recording::new(&[(page_faults(usual_fields()), "page_fault")]);
    for (tid, name) in [(1, "io;worker 1"), (2, "two\nlines;"), (3, "")] {
        stream.comm(task(1, tid), 0, name, false);
        stream.hit(&Hit::new(KERNEL, CLEAR + 4, task(1, tid), 9));
    }
    let query = Query { keys: Key::parse_list("comm,routine").unwrap(), ..Query::default() };
    let mut text = Vec::new();
    folded::write(&report(query, &stream.bytes).unwrap(), &mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    let expected = [
        "[no-name];clear_page_erms 1",
        "io:worker 1;clear_page_erms 1",
        "two\\nlines:;clear_page_erms 1",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn chains_fold_from_the_outermost_on() {
    let report = by("comm,stack", usual_fields() | SampleType::CALLCHAIN);
    let mut text = Vec::new();
    folded::write(&report, &mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    let expected = [
        "make;[anonymous] //anon 1",
        "make;[anonymous] //anon;clear_page_erms 1",
        "make;[no-chain] 1",
        "make;clear_page_erms 1",
        "make;copy_page;clear_page_erms 1",
        "make;copy_page;clear_page_erms;clear_page_erms 1",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn an_event_without_chains_says_so() {
    let report = by("caller", usual_fields());
    let [row] = report.events[0].rows.as_slice() else { panic!("{:?}", report.events[0].rows) };
    assert_eq!(row.count, 6);
    let text = table::render(&report, table::Style::default());
    assert!(text.contains("[no-chain]"), "{text}");
}

/// Chains of routines and of nameless memory, some of user space.
fn any_chain() -> impl Strategy<Value = Vec<u64>> {
    let kernel = prop::sample::select(vec![CLEAR + 4, COPY + 5, CLEAR + 0x104]);
    let user = prop::sample::select(vec![0x1010_u64, 0x5010]);
    (prop::collection::vec(kernel, 0..6), prop::collection::vec(user, 0..3)).prop_map(
        |(kernel, user)| {
            let of = |marker: u64, frames: Vec<u64>| {
                (!frames.is_empty()).then_some(marker).into_iter().chain(frames)
            };
            of(IN_KERNEL, kernel).chain(of(OF_USER, user)).collect()
        },
    )
}

/// What children of a node, those that are not told apart, and its own add up to.
fn below(tree: &CallTree, parent: Option<usize>) -> u64 {
    let nodes = tree.nodes.iter().filter(|node| node.parent == parent).map(|node| node.count);
    let of = parent.map(|parent| &tree.nodes[parent]);
    let others = of.map_or(tree.others, |node| node.others);
    nodes.sum::<u64>() + others.map_or(0, |it| it.count) + of.map_or(0, |node| node.self_count)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn every_view_adds_up(
        chains in prop::collection::vec(any_chain(), 0..40),
        cut in 0..5_usize,
        least_millionths in prop::sample::select(vec![0_u32, 100_000, 400_000]),
    ) {
        let fields = usual_fields() | SampleType::CALLCHAIN;
        let mut stream = Recording::new(&[(page_faults(fields), "page_fault")]);
        stream.map(task(1, 1), 0, 0x1000..0x2000, "//anon");
        for chain in &chains {
            let chain = chain.clone();
            stream.hit(&Hit { chain, ..Hit::new(KERNEL, CLEAR + 4, task(1, 1), 9) });
        }
        let glob = Some(Glob::new("c*_page*"));
        let frames = match cut {
            0 => FrameCut { callers: glob, ..FrameCut::default() },
            1 => FrameCut { callees: glob, ..FrameCut::default() },
            2 => FrameCut { outside: glob.into_iter().collect(), ..FrameCut::default() },
            _ => FrameCut::default(),
        };
        let of = |chains| {
            let query = Query { chains, ..cut_by("stack", frames.clone()) };
            report(query, &stream.bytes).unwrap().events.remove(0)
        };
        let rows = of(ChainView::Rows);
        let counted = rows.totals.counted;
        prop_assert_eq!(rows.totals.samples, counted + rows.totals.filtered);
        prop_assert_eq!(rows.rows.iter().map(|row| row.count).sum::<u64>(), counted);
        let inclusive = of(ChainView::Inclusive);
        let own = |row: &Row| row.own.unwrap().count;
        prop_assert_eq!(inclusive.rows.iter().map(own).sum::<u64>(), counted);
        prop_assert!(inclusive.rows.iter().all(|row| own(row) <= row.count && row.count <= counted));
        for order in [TreeOrder::Callees, TreeOrder::Callers] {
            let tree = of(ChainView::Tree(TreeQuery { order, least_millionths })).tree.unwrap();
            prop_assert_eq!(below(&tree, None), counted);
            for (index, node) in tree.nodes.iter().enumerate() {
                prop_assert_eq!(below(&tree, Some(index)), node.count);
            }
            let least = f64::from(least_millionths) / 1e6;
            prop_assert!(tree.nodes.iter().all(|node| node.share >= least));
        }
    }
}

fn view(chains: ChainView) -> Report {
    let fields = usual_fields() | SampleType::CALLCHAIN;
    let query = Query { chains, ..cut_by("stack", FrameCut::default()) };
    report(query, &recording(fields).bytes).unwrap()
}

#[test]
fn inclusive_rows_have_each_routine_once_a_sample() {
    let report = view(ChainView::Inclusive);
    let rows = report.events[0].rows.iter().map(|row| {
        let name = match &row.cells[0] {
            Cell::Text(text) => text.to_string(),
            other => format!("{other:?}"),
        };
        format!("{name} {} {}", row.count, row.own.unwrap().count)
    });
    let rows: Vec<String> = rows.collect();
    for row in ["clear_page_erms 4 4", "copy_page 2 0", "[anonymous] //anon 2 1"] {
        assert!(rows.iter().any(|it| it == row), "{row}: {rows:#?}");
    }
    let text = table::render(&report, table::Style::default());
    assert!(text.contains("count   share    self  routine\n"), "{text}");
    assert!(
        csv::render(&report)
            .unwrap()
            .contains("exact_ip,self_count,self_period,self_share,routine")
    );
}

#[test]
fn trees_lead_to_callees_or_to_callers() {
    let of = |order, least_millionths| {
        let tree = TreeQuery { order, least_millionths };
        table::render(&view(ChainView::Tree(tree)), table::Style::default())
    };
    let text = of(TreeOrder::Callees, 0);
    assert!(text.contains("33.33%  16.67%  copy_page > clear_page_erms\n"), "{text}");
    let text = of(TreeOrder::Callers, 0);
    assert!(text.contains("66.67%  clear_page_erms\n"), "{text}");
    assert!(text.contains("16.67%    [anonymous] //anon\n"), "{text}");
    let text = of(TreeOrder::Callers, 400_000);
    assert!(text.contains("33.33%  2 others\n"), "{text}");
    assert!(text.contains("50.00%    3 others\n"), "{text}");
}

#[test]
fn json_has_each_chain_and_frame_once() {
    let json: serde_json::Value = serde_json::to_value(view(ChainView::Rows)).unwrap();
    let list = |key: &str| json[key].as_array().unwrap().clone();
    assert_eq!(list("frames").len(), 3, "{json:#}");
    let (frames, chains) = (list("frames"), list("chains"));
    let rows = json["events"][0]["rows"].as_array().unwrap();
    let mut texts: Vec<String> = Vec::new();
    for row in rows {
        let Some(mut chain) = row["stack"].as_u64() else { continue };
        let mut names: Vec<&str> = Vec::new();
        loop {
            let at = &chains[chain as usize];
            names.push(frames[at["frame"].as_u64().unwrap() as usize]["routine"].as_str().unwrap());
            let Some(caller) = at["caller"].as_u64() else { break };
            assert!(caller < chain, "callers come first");
            chain = caller;
        }
        texts.push(names.join(" "));
    }
    assert_eq!(texts.len(), 5);
    assert!(texts.contains(&"clear_page_erms clear_page_erms copy_page".to_owned()), "{texts:?}");
}

/// Three samples of one way into the kernel, one of another whose record comes
/// two rounds later, one of a third whose record never comes, and one of
/// another thread with the number of the first.
fn deferred() -> Recording {
    let attr = page_faults(usual_fields() | SampleType::CALLCHAIN);
    let flags = attr.flags | AttrFlags::DEFER_CALLCHAIN | AttrFlags::DEFER_OUTPUT;
    let mut stream = Recording::new(&[(Attr { flags, ..attr }, "page_fault")]);
    stream.comm(task(1, 1), 0, "make", true);
    stream.map(task(1, 1), 0, 0x1000..0x2000, "//anon");
    let of = perfdata::ChainContext::USER_DEFERRED.0;
    for (tid, time, cookie) in
        [(1, 9, 70), (1, 10, 70), (1, 11, 70), (1, 20, 71), (1, 30, 72), (2, 40, 70)]
    {
        let chain = vec![IN_KERNEL, CLEAR + 4, CLEAR + 8, COPY + 5, of, cookie];
        stream.hit(&Hit { chain, ..Hit::new(KERNEL, CLEAR + 4, task(1, tid), time) });
    }
    let words: Vec<u8> =
        [OF_USER, 0x1010, 0x1020].iter().flat_map(|word: &u64| word.to_le_bytes()).collect();
    let chain = RecordWords::new(&words, ByteOrder::Little);
    let sent = |cookie| SidebandRecord::CallchainDeferred { cookie, chain };
    stream.side(USER, &sent(70), task(1, 1), 12);
    (0..3).for_each(|_| stream.round());
    stream.side(USER, &sent(71), task(1, 1), 50);
    (0..3).for_each(|_| stream.round());
    stream
}

#[test]
fn what_the_kernel_deferred_is_joined_to_the_samples_of_its_thread() {
    let keys = Key::parse_list("stack").unwrap();
    let query = Query { keys, ..Query::default() };
    let report = report(query, &deferred().bytes).unwrap();
    let mut text = Vec::new();
    folded::write(&report, &mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    let kernel = "copy_page;clear_page_erms;clear_page_erms";
    let expected = [
        format!("[anonymous] //anon;[anonymous] //anon;{kernel} 4"),
        format!("[not-sent];{kernel} 2"),
    ];
    assert_eq!(lines, expected);
    let table = table::render(&report, table::Style::default());
    let said = "2 call chains are without user space's part: what the kernel deferred was not \
                recorded";
    assert!(table.replace('\n', " ").contains(said), "{table}");
}
