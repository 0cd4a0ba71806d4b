// The same as heap_pages.c of Rust. Nothing is given back, so that each block has pages of its own;
// all of them are less than a huge page.
use std::hint::black_box;
use std::mem::MaybeUninit;

const PAGE: usize = 4096;
const LARGE: usize = 200 << 10;

#[derive(Clone, Copy)]
#[repr(align(64))]
struct Wide([u8; 64]);

/// Writes to the pages that begin in a block, from byte FROM on: how many.
#[inline(never)]
fn touch<T: Copy>(block: &mut [MaybeUninit<T>], with: T, from: usize) -> usize {
    let first = (block.as_ptr().addr() + from).next_multiple_of(PAGE) - block.as_ptr().addr();
    let places = (first..size_of_val(block)).step_by(PAGE);
    let count = places.clone().count();
    for at in places {
        black_box(&mut block[at / size_of::<T>()]).write(with);
    }
    count
}

fn main() {
    let mut list = Vec::<u8>::with_capacity(LARGE);
    let (line, count) = (line!() - 1, touch(list.spare_capacity_mut(), 1, 1));
    println!("heap_pages.rs:{line} {count}");
    list.reserve_exact(2 * LARGE);
    let (line, count) = (line!() - 1, touch(list.spare_capacity_mut(), 1, LARGE));
    println!("heap_pages.rs:{line} {count}");
    let mut wide = Vec::<Wide>::with_capacity(LARGE / 64);
    let (line, count) = (line!() - 1, touch(wide.spare_capacity_mut(), Wide([1; 64]), 1));
    println!("heap_pages.rs:{line} {count}");
    let mut boxed = Box::<[u8]>::new_uninit_slice(LARGE);
    let (line, count) = (line!() - 1, touch(&mut boxed, 1, 1));
    println!("heap_pages.rs:{line} {count}");
    // So that it is read.
    black_box(Wide([0; 64]).0);
    std::mem::forget((list, wide, boxed));
}
