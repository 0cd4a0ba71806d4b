//! Accesses of known type in Rust: boxes, vectors, slices, enums with payloads and
//! niches, counted pointers, maps, tuples, generic types.

#[path = "sys/hash_table.rs"]
mod hash_table;

use std::collections::{BTreeMap, HashMap};
use std::hint::black_box;
use std::mem::{offset_of, size_of};
use std::rc::Rc;

struct Node {
    load: u64,
    next: Option<Box<Node>>,
    corner: Spot,
}
#[derive(Clone, Copy, Default)]
struct Spot {
    east: u32,
    north: u32,
}
#[derive(Clone, Default)]
struct Record {
    price: f64,
    year: u16,
    marks: [u32; 4],
}
enum Form {
    Circle { radius: f64 },
    Square { width: f64, height: f64 },
    Nothing,
}
struct Pair<T> {
    first: T,
    second: T,
}
struct Counted {
    hits: u64,
    misses: u32,
}

macro_rules! tell {
    ($type:ty, $($member:ident),*) => {
        println!("type {} {}", stringify!($type).replace(' ', ""), size_of::<$type>());
        $(println!("member {} {} {} {}", stringify!($type).replace(' ', ""),
            offset_of!($type, $member), size(|it: &$type| &it.$member), stringify!($member));)*
    };
}

fn size<T, M>(_: fn(&T) -> &M) -> usize {
    size_of::<M>()
}

fn object<T>(name: &str, at: *const T, count: usize) {
    println!("object {at:p} {} {name}", size_of::<T>() * count);
}

#[inline(never)]
fn build(count: u64) -> Option<Box<Node>> {
    let mut head = None;
    for load in 0..count {
        let corner = Spot { east: load as u32, north: 2 };
        let node = Box::new(Node { load, next: head, corner });
        object("Node", &*node, 1);
        head = Some(node);
    }
    head
}

#[inline(never)]
fn walk(mut at: &Option<Box<Node>>) -> u64 {
    let mut sum = 0;
    while let Some(node) = at {
        sum += node.load + u64::from(node.corner.north);
        at = &node.next;
    }
    sum
}

#[inline(never)]
fn records(all: &mut [Record]) -> f64 {
    let mut sum = 0.0;
    for record in all.iter_mut() {
        sum += record.price * f64::from(record.year);
        record.marks[usize::from(record.year & 3)] += 1;
    }
    sum
}

#[inline(never)]
fn scattered(all: &[Record], order: &[usize]) -> f64 {
    order.iter().map(|&at| all[at].price + f64::from(all[at].year)).sum()
}

#[inline(never)]
fn forms(all: &Vec<Form>) -> f64 {
    let mut sum = 0.0;
    for form in all {
        sum += match form {
            Form::Circle { radius } => radius * radius,
            Form::Square { width, height } => width * height,
            Form::Nothing => 1.0,
        };
    }
    sum
}

#[inline(never)]
fn pairs(all: &[Pair<u64>]) -> u64 {
    all.iter().map(|pair| pair.first * pair.second).sum()
}

#[inline(never)]
fn counted(all: &[Rc<Counted>]) -> u64 {
    all.iter().map(|it| it.hits + u64::from(it.misses)).sum()
}

#[inline(never)]
fn look(tree: &BTreeMap<u32, Box<Record>>, map: &HashMap<u32, Box<Record>>) -> f64 {
    let mut sum = 0.0;
    for key in 0..100 {
        if let Some(record) = tree.get(&(key * 3)) {
            sum += record.price;
        }
        if let Some(record) = map.get(&(key * 5)) {
            sum += f64::from(record.year);
        }
    }
    sum
}

fn main() {
    tell!(Node, load, next);
    let corner = offset_of!(Node, corner);
    println!("member Node {} 4 east", corner + offset_of!(Spot, east));
    println!("member Node {} 4 north", corner + offset_of!(Spot, north));
    tell!(Record, price, year, marks);
    tell!(Pair<u64>, first, second);
    tell!(Counted, hits, misses);
    let all = vec![Record { price: 2.0, year: 3, ..Record::default() }; 300];
    let mut all = black_box(all);
    object("Record", all.as_ptr(), 300);
    let make = |at: u64| match at % 3 {
        0 => Form::Circle { radius: 1.0 },
        1 => Form::Square { width: 2.0, height: 3.0 },
        _ => Form::Nothing,
    };
    let all_forms: Vec<Form> = black_box((0..200).map(make).collect());
    println!("type Form {}", size_of::<Form>());
    let within = |at: *const f64, of: &Form| at as usize - std::ptr::from_ref(of) as usize;
    let mut at = BTreeMap::<usize, Vec<&str>>::new();
    for form in &all_forms[..3] {
        let mut add = |it: &f64, name| {
            let names = at.entry(within(it, form)).or_default();
            names.push(name);
        };
        match form {
            Form::Circle { radius } => add(radius, "radius"),
            Form::Square { width, height } => {
                add(width, "width");
                add(height, "height");
            }
            Form::Nothing => {}
        }
    }
    for (at, names) in at {
        println!("member Form {at} 8 {}", names.join("|"));
    }
    object("Form", all_forms.as_ptr(), 200);
    let all_pairs: Vec<Pair<u64>> =
        black_box((0..200).map(|it| Pair { first: it, second: 2 * it }).collect());
    object("Pair<u64>", all_pairs.as_ptr(), 200);
    let rcs: Vec<Rc<Counted>> =
        (0..200).map(|it| Rc::new(Counted { hits: it, misses: 1 })).collect();
    rcs.iter().for_each(|it| object("Counted", Rc::as_ptr(it), 1));
    let boxed = |it: u32| {
        let record = Box::new(Record { price: 1.0, year: it as u16, ..Record::default() });
        object("Record", &*record, 1);
        record
    };
    let tree: BTreeMap<u32, Box<Record>> = (0..100).map(|it| (it, boxed(it))).collect();
    let map: HashMap<u32, Box<Record>> = (0..100).map(|it| (it, boxed(it))).collect();
    let list = black_box(build(200));
    let order: Vec<usize> = (0..300).map(|it| it * 7 % 300).collect();
    let table = black_box(hash_table::Table::new(64));
    hash_table::fill(&table);
    object("Pair<u64>", table.entry(table.count - 1), table.count);
    println!("type Mark 1\nmember Mark 0 1 mark");
    object("Mark", table.marks, table.count);
    for _ in 0..3 {
        black_box(walk(&list));
        black_box(hash_table::marked(&table));
        black_box(records(&mut all) + scattered(&all, &order));
        black_box(forms(&all_forms));
        black_box(pairs(&all_pairs) + counted(&rcs));
        black_box(look(&tree, &map));
    }
}
