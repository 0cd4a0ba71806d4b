//! Types of every odd kind, and where their parts lie: a line each,
//! TYPE|VARIANT|MEMBER|OFFSET|SIZE of the type.
#![allow(dead_code, reason = "types are what it is for")]

use std::mem::{offset_of, size_of};
use std::num::NonZeroU32;

struct Plain { a: u8, b: u32, c: Option<Box<Plain>>, d: (u16, u64), e: [u8; 3] }
#[repr(C)]
struct Written { a: u8, b: u32, c: u16 }
struct Generic<T> { one: T, many: Vec<T>, name: &'static str }
struct Tuple(u8, u64, char);
union Either { a: u32, b: [u8; 7], c: f64 }
enum Plainer { A, B = 7, C }
enum Shape { Empty, Circle(f32), Rect { w: u64, h: u16 }, Named(String, u8) }
enum Niche { Nothing, Some(Box<u8>) }
enum Single { Only { a: u8, b: u32 } }
#[repr(u8)]
enum Tagged { A(u8) = 3, B { x: u64, y: u8 } = 9, C = 200 }
enum Nested { In(Shape), Out(bool, u32) }
#[repr(i16)]
enum Negative { Low(u32) = -5, High = 5 }

fn at<T, U>(of: &T, part: &U) -> usize {
    part as *const U as usize - of as *const T as usize
}

fn main() {
    macro_rules! size { ($name:expr, $of:ty) => { println!("{}||||{}", $name, size_of::<$of>()) } }
    macro_rules! member { ($name:expr, $of:ty, $field:tt) => { println!("{}||{}|{}|{}", $name, stringify!($field), offset_of!($of, $field), size_of::<$of>()) } }
    macro_rules! payload { ($name:expr, $value:expr, $variant:expr, $member:expr, $pattern:pat => $part:expr) => {{
        let value = $value;
        let $pattern = &value else { unreachable!() };
        println!("{}|{}|{}|{}|{}", $name, $variant, $member, at(&value, $part), std::mem::size_of_val(&value));
    }} }
    member!("odd_types::Plain", Plain, b);
    member!("odd_types::Plain", Plain, d);
    member!("odd_types::Written", Written, c);
    member!("odd_types::Generic<u16>", Generic<u16>, one);
    member!("odd_types::Tuple", Tuple, 1);
    size!("odd_types::Either", Either);
    size!("odd_types::Plainer", Plainer);
    size!("Option<core::num::nonzero::NonZero<u32>>", Option<NonZeroU32>);
    payload!("odd_types::Shape", Shape::Circle(1.0), "Circle", "__0", Shape::Circle(r) => r);
    payload!("odd_types::Shape", Shape::Rect { w: 1, h: 2 }, "Rect", "w", Shape::Rect { w, .. } => w);
    payload!("odd_types::Shape", Shape::Rect { w: 1, h: 2 }, "Rect", "h", Shape::Rect { h, .. } => h);
    payload!("odd_types::Shape", Shape::Named(String::new(), 1), "Named", "__0", Shape::Named(s, _) => s);
    payload!("odd_types::Shape", Shape::Named(String::new(), 1), "Named", "__1", Shape::Named(_, b) => b);
    payload!("odd_types::Niche", Niche::Some(Box::new(1)), "Some", "__0", Niche::Some(b) => b);
    #[allow(irrefutable_let_patterns, reason = "the one variant is no question")]
    { payload!("odd_types::Single", Single::Only { a: 1, b: 2 }, "Only", "b", Single::Only { b, .. } => b); }
    payload!("odd_types::Tagged", Tagged::A(1), "A", "__0", Tagged::A(a) => a);
    payload!("odd_types::Tagged", Tagged::B { x: 1, y: 2 }, "B", "x", Tagged::B { x, .. } => x);
    payload!("odd_types::Tagged", Tagged::B { x: 1, y: 2 }, "B", "y", Tagged::B { y, .. } => y);
    payload!("odd_types::Nested", Nested::In(Shape::Circle(1.0)), "In", "__0", Nested::In(s) => s);
    payload!("odd_types::Nested", Nested::Out(true, 1), "Out", "__0", Nested::Out(b, _) => b);
    payload!("odd_types::Nested", Nested::Out(true, 1), "Out", "__1", Nested::Out(_, n) => n);
    payload!("odd_types::Negative", Negative::Low(1), "Low", "__0", Negative::Low(n) => n);
    let (plain, generic) = (Plain { a: 1, b: 2, c: None, d: (1, 2), e: [0; 3] }, Generic { one: 1_u16, many: vec![], name: "a" });
    let keep = (Tagged::C, Negative::High, Plainer::A, Nested::Out(true, 1), Shape::Empty, Niche::Nothing, NonZeroU32::new(plain.b));
    let either = Either { a: std::hint::black_box(1) };
    std::hint::black_box((&plain, &generic, &keep, &either, &Plainer::C, &Tuple(1, 2, 'c'), &Written { a: 1, b: 2, c: 3 }, &Plainer::B));
}
