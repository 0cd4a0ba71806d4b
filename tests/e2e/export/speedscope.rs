//! What speedscope itself shows of an export, in a browser.

use super::{json, number};
use std::collections::BTreeMap;
use tests::{Scene, chromium, rights, workload};

/// Misses of a program without debug info: routines are those of symbols, none is inlined.
fn misses(scene: &Scene) {
    let source = workload::sources().join("patterns.c");
    scene.shell(&format!("gcc -O1 -static -no-pie -o patterns {}", source.display())).success();
    let line = "ebs -u -d -g --source emulated -t l1_cache_miss -i =3 -c all -o m.data";
    scene.run(&format!("{line} ./patterns nodes")).success();
}

/// Rows of the table of routines: the name, with its weight in all and of its own.
fn routines(dom: &str) -> BTreeMap<String, [u64; 2]> {
    let (mut words, mut is_markup) = (vec![String::new()], false);
    for letter in dom.chars() {
        match letter {
            '<' => {
                is_markup = true;
                words.push(String::new());
            }
            '>' => is_markup = false,
            letter if !is_markup => words.last_mut().unwrap().push(letter),
            _ => {}
        }
    }
    let words: Vec<&str> = words.iter().map(|it| it.trim()).filter(|it| !it.is_empty()).collect();
    // Such as 5,000 (20%).
    let weight = |cell: &str| {
        let (count, share) = cell.split_once(" (")?;
        share.strip_suffix("%)")?;
        count.replace(',', "").parse::<u64>().ok()
    };
    let mut rows = BTreeMap::new();
    for cells in words.windows(3) {
        if let (Some(all), Some(own)) = (weight(cells[0]), weight(cells[1])) {
            let [sum_all, sum_own] = rows.entry(cells[2].to_owned()).or_insert([0; 2]);
            *sum_all += all;
            *sum_own += own;
        }
    }
    rows
}

#[test]
fn speedscope_shows_the_sums_of_the_report() {
    let test = "speedscope_shows_the_sums_of_the_report";
    if !rights::program(test, "gcc") {
        return;
    }
    let Some(speedscope) = rights::speedscope(test) else { return };
    let scene = Scene::new();
    misses(&scene);
    scene.run("ebs export --to speedscope m.data -o m.json").success();
    // As its own command line hands a file over.
    let script =
        "printf 'speedscope.loadFileFromBase64(\"m.json\", \"%s\")' \"$(base64 -w0 m.json)\"";
    scene.shell(&format!("{script} > m.js")).success();
    let url = format!(
        "file://{}/index.html#localProfilePath={}&view=sandwich",
        speedscope.display(),
        scene.path("m.js").display()
    );
    // The table has the rows that fit, and is drawn a while after the page is loaded.
    let options = [
        "--allow-file-access-from-files",
        "--window-size=1200,8000",
        "--virtual-time-budget=20000",
    ];
    let Some(page) = chromium::browse(test, &scene, &url, &options) else { return };
    let shown = routines(&page.dom);
    let report = json(&scene.run("ebs report --json --by routine m.data").success().out);
    let event = &report["events"][0];
    let own: u64 = shown.values().map(|[_, own]| own).sum();
    assert_eq!(own, number(&event["totals"]["period"]), "{shown:?}\n{}", page.said);
    let rows = event["rows"].as_array().unwrap();
    assert!(rows.len() > 2, "{report}");
    for row in rows {
        let Some(routine) = row["routine"].as_str() else { continue };
        let [_, own] = shown.get(routine).unwrap_or_else(|| panic!("{routine}: {shown:?}"));
        assert_eq!(*own, number(&row["period"]), "{routine}");
    }
}
