//! What samples are about, in words: places, threads, objects.

pub(crate) mod access_types;
pub(crate) mod allocation_site;
pub(crate) mod atom;
pub(crate) mod block_lives;
pub(crate) mod build_keys;
pub(crate) mod call_chains;
pub(crate) mod cell;
pub(crate) mod chain_parts;
pub(crate) mod chain_tree;
pub(crate) mod chain_words;
pub(crate) mod comms;
pub(crate) mod data_holder;
pub(crate) mod frame_bytes;
pub(crate) mod heap_blocks;
pub(crate) mod lookup;
pub(crate) mod mapped_spans;
pub(crate) mod mapping_maker;
pub(crate) mod mapping_sizes;
pub(crate) mod mappings;
pub(crate) mod names;
pub(crate) mod regions;
pub(crate) mod sampled_stacks;
pub(crate) mod stacks;
pub(crate) mod thread_pointers;
pub(crate) mod undecided_types;
mod variable_atoms;
