//! Every form of the grammar, and errors to the letter.

use super::{AddressRange, Filter, FilterCondition};
use crate::query::glob::Glob;
use perfdata::CpuMode;
use perfdata::data_src::DataSrcAspect;

fn one(text: &str) -> FilterCondition {
    let filter: Filter = text.parse().unwrap();
    assert!(!filter.negated);
    filter.condition
}

fn error(text: &str) -> String {
    Filter::parse_all(text).unwrap_err().to_string()
}

#[test]
fn reads_every_field() {
    assert_eq!(one("routine=copy_*"), FilterCondition::Routine(Glob::new("copy_*")));
    assert_eq!(one("object=libc.so.6"), FilterCondition::Object(Glob::new("libc.so.6")));
    assert_eq!(one("frame=mem*"), FilterCondition::Frame(Glob::new("mem*")));
    assert_eq!(one("comm=kworker/0:1"), FilterCondition::Comm(Glob::new("kworker/0:1")));
    assert_eq!(one("pid=0"), FilterCondition::Pid(0));
    assert_eq!(one("tid=4194304"), FilterCondition::Tid(4_194_304));
    assert_eq!(one("cpu=3"), FilterCondition::Cpu(3));
    assert_eq!(one("mode=kernel"), FilterCondition::Mode(CpuMode::Kernel));
    assert_eq!(one("mode=guest-user"), FilterCondition::Mode(CpuMode::GuestUser));
    let range = AddressRange { start: 0x1000, last: 0x1fff };
    assert_eq!(one("addr=1000-2000"), FilterCondition::Addr(range));
    assert_eq!(one("ip = 0x1000 - 0x2000"), FilterCondition::Ip(range));
    assert_eq!(one("addr=0"), FilterCondition::Addr(AddressRange { start: 0, last: 0 }));
    let above = AddressRange { start: 100, last: u64::MAX };
    assert_eq!(one("weight=100-"), FilterCondition::Weight(above));
    assert_eq!(one("snoop=hitm"), FilterCondition::Access(DataSrcAspect::Snoop, Glob::new("hitm")));
    let kernel_half = AddressRange { start: 0xffff_8000_0000_0000, last: u64::MAX };
    assert_eq!(one("addr=ffff800000000000-"), FilterCondition::Addr(kernel_half));
}

#[test]
fn names_keep_their_punctuation() {
    assert_eq!(
        one("routine=std::map<int, a=b>::at(int) const"),
        FilterCondition::Routine(Glob::new("std::map<int, a=b>::at(int) const"))
    );
}

#[test]
fn terms_are_joined_and_negated() {
    let filters = Filter::parse_all("pid=1 and comm!=make  and mode=user").unwrap();
    let texts: Vec<String> = filters.iter().map(Filter::to_string).collect();
    assert_eq!(texts, ["pid=1", "comm!=make", "mode=user"]);
}

#[test]
fn prints_what_reads_back() {
    for text in [
        "addr=1000",
        "addr=1000-1002",
        "ip=0-",
        "ip=fff0-",
        "cpu!=2",
        "mode=guest-kernel",
        "weight=90",
        "weight!=9-10000",
        "weight=100-",
        "level=L3*",
        "op=load",
        "snoop!=hitm",
        "tlb=*walk*",
        "lock=locked",
        "blk=data",
    ] {
        let filter: Filter = text.parse().unwrap();
        assert_eq!(filter.to_string(), text);
    }
    let top = AddressRange { start: u64::MAX, last: u64::MAX };
    assert_eq!(top.to_string(), "ffffffffffffffff-");
}

#[test]
fn errors_quote_token_and_position() {
    for (text, message) in [
        ("pid=abc", "filter \"pid=abc\", at byte 4: \"abc\" is not a process id, 0 to 2147483647"),
        ("pid=-1", "filter \"pid=-1\", at byte 4: \"-1\" is not a process id, 0 to 2147483647"),
        (
            "cpu=1 and  routin=x",
            "filter \"cpu=1 and  routin=x\", at byte 11: \"routin\" is nothing to filter by; \
             did you mean routine?",
        ),
        (
            "addr=10-xyz",
            "filter \"addr=10-xyz\", at byte 8: \"xyz\" is no address; write up to 16 hex digits",
        ),
        (
            "addr=20-10",
            "filter \"addr=20-10\", at byte 8: \"10\" is not above the start 20; \
             a range is START-END without END",
        ),
        (
            "weight=1e-f",
            "filter \"weight=1e-f\", at byte 7: \"1e\" is not a decimal number, or START-END \
             without END, or START-",
        ),
        ("comm=", "filter \"comm=\", at byte 5: \"\" is no value for comm"),
        (
            "mode=ring0",
            "filter \"mode=ring0\", at byte 5: \"ring0\" is no privilege level; \
             possible are user, kernel, hypervisor, guest-kernel, guest-user",
        ),
    ] {
        assert_eq!(error(text), message);
    }
    assert!(error("").contains("has no \"=\""));
    assert!(error("=5").contains("is nothing to filter by"));
    assert!(error("!=5").contains("is nothing to filter by"));
    assert!(error("addr=10000000000000000").contains("up to 16 hex digits"));
    assert!(error("addr=-10").contains("is no address"));
    assert!(error("ip=+5").contains("is no address"));
}
