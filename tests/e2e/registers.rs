use hardmeter_tests::{Scene, Truth, Workload, rights};

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
            let mut lines = found.out.lines();
            lines
                .find(|line| line.split_whitespace().next() == Some(register))
                .unwrap_or_else(|| panic!("no line for {register}: {found}"))
                .to_owned()
        };
        let rcx = line("rcx");
        for said in ["600", "13", "8"] {
            assert!(rcx.contains(said), "{said} is not said: {rcx}");
        }
        assert!(rcx.contains("a40"), "the low bits are not said: {rcx}");
        assert!(line("rax").contains('7'), "{found}");
        assert!(line("rdx").contains("48") || line("rdx").contains("0x30"), "{found}");
    }
}
