use tests::{Scene, Truth, Workload, rights};

#[test]
fn the_histogram_finds_the_bits_that_never_change() {
    if !rights::sampling("the_histogram_finds_the_bits_that_never_change") {
        return;
    }
    let scene = Scene::new();
    Workload::List.build(&scene);
    let told = scene.run("ebs -u -t page_fault -c all -o l.data ./list 600").success();
    let truth = Truth::new(&told.out);
    let site = truth.number("site");
    for site in [format!("{site:#x}"), "list_insert".to_owned()] {
        let found = scene.run(&format!("ebs report l.data --site {site} --regs")).success();
        let line = |register: &str| {
            let begin = format!("{register}: ");
            let found_line = found.out.lines().find(|line| line.starts_with(&begin));
            found_line.unwrap_or_else(|| panic!("no line for {register}: {found}")).to_owned()
        };
        let cx = line("cx");
        for said in ["600 values", "same 13 low bits (0x0a40)", "8 KiB-aligned", "stride 8192"] {
            assert!(cx.contains(said), "{said} is not said: {cx}");
        }
        assert!(line("ax").contains("always 0x7"), "{found}");
        assert!(line("dx").contains("stride 48"), "{found}");
        assert!(line("dx").contains("same 4 low bits (0x0)"), "{found}");
        let si = line("si");
        assert!(si.contains("600 values") && !si.contains("same"), "nothing is in common: {si}");
        assert!(line("addr").contains("same 13 low bits (0x0a40)"), "{found}");
    }
    let said = ["list_insrt", "of ", "list_insert"];
    let nowhere = scene.run("ebs report l.data --site list_insrt --regs").refused(1, &said);
    assert!(nowhere.out.is_empty(), "registers of nothing: {nowhere}");
}
