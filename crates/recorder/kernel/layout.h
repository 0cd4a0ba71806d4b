// What lies in the maps: words of 64 bits, mirrored by
// crates/recorder/src/in_kernel/layout.rs.
#pragma once
#include "kernel.h"

// perf's registers 0 to 7, 9 and 16 to 23: the general ones and the flags.
#define REGISTERS 17
// Whole hits that a slot keeps.
#define RESERVOIR 4
// Slots looked at for a site before its hit is lost.
#define PROBES 16
// Levels of control groups that are looked at.
#define DEEPEST 32
// Words of strides a slot.
#define STRIDES 65
// Frames of a chain, PERF_MAX_STACK_DEPTH: as many as perf's samples have.
#define FRAMES 127

struct bits {
    u64 all, any;
};

struct taken {
    u64 time, task, address, period, weight, data_src;
    u64 registers[REGISTERS];
};

// One site of one CPU and epoch. A slot of another epoch is an empty one, so
// that nothing is ever cleared.
struct slot {
    u64 epoch, ip;
    // Process (0: not told apart) times two, plus one in user mode.
    u64 who;
    // Of the callers, 0 where they are not asked for.
    u64 hash;
    u64 count, period, first, last, lowest, highest;
    // Of the numbers of their processes.
    struct bits process;
    struct bits address;
    struct bits registers[REGISTERS];
    // The address of the hit before.
    u64 before;
    struct taken taken[RESERVOIR];
};

// The callers of a site, beside its slot: the kernel's frames, then the
// program's. What was hit is the first of them, and its word is 0: the site
// knows.
struct chain {
    u64 kernel, user;
    u64 frames[FRAMES];
};

// Why a hit is in no slot, or in no ring.
enum why {
    NO_ROOM,
    SCRUBBED,
    NOT_PID,
    NOT_TID,
    NOT_CGROUP,
    NOT_COMM,
    NOT_IP,
    NOT_ADDRESS,
    NOT_WEIGHT,
    NOT_DATA_SRC,
    NOT_ONE_IN,
    WHYS = 13,
};

// What one CPU saw in one epoch.
struct counts {
    u64 epoch, seen;
    // Slots of its table that sites took.
    u64 used;
    u64 why[WHYS];
};

struct cpu {
    // Twice the epoch that is written to, plus one while it is.
    u64 busy;
    // Which tables are this CPU's; NO_ROW: none.
    u64 row;
    // State of a generator of random numbers, never 0.
    u64 random;
    // Hits since one was kept, of one in so many.
    u64 skipped;
    // Hits of a tracepoint, and those since the last sample.
    u64 hits, since;
    u64 unused[2];
    struct counts counts[2];
};
#define NO_ROW (~0ull)

struct control {
    u64 epoch;
    // Sizes of the maps, for whoever maps them; the programs do not look.
    u64 slots, rows, cpus;
    // Tracepoints: nothing is counted.
    u64 halted;
};

// What a program is made for: read-only before it is verified, so that what
// is not wanted costs nothing. All words, mirrored in Rust.
struct settings {
    u64 slots;        // a table, a power of two
    u64 by_process;   // sites of processes apart
    u64 strides;      // histograms of distances
    u64 callers;      // sites of callers apart
    u64 address;      // the event has addresses
    u64 weight;       // and weights
    u64 data_src;     // and data sources
    u64 user_only;    // what shows the kernel is not kept
    u64 one_in;
    u64 namespace_device, namespace_inode; // of pids; 0: the initial one
    u64 pids, pid[8];
    u64 tids, tid[8];
    u64 cgroup;       // 0: any
    u64 comm_wanted, comm[2];
    u64 ip_wanted, ip_first, ip_last;
    u64 address_wanted, address_first, address_last;
    u64 least_weight;
    u64 data_src_mask, data_src_value;
    u64 seed;         // random, of this program alone
};
