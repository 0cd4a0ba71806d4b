// Counting a hit: epochs, conditions, the table of sites. Included by each
// program, which has maps and settings of its own.
//
// One run at a time on a CPU: the kernel runs no program on a CPU that runs
// one (bpf_prog_active), and none is moved to another while it runs. So what
// is of one CPU needs no atomics but for `busy`, which its reader looks at.
#pragma once
#include "layout.h"

// The maps' sizes are set when they are made; 1 is what a description needs.
struct {
    NUMBER(type, MAP_ARRAY);
    NUMBER(map_flags, MMAPABLE);
    NUMBER(max_entries, 1);
    TYPE(key, u32);
    TYPE(value, struct slot);
} slots SECTION(".maps");

struct {
    NUMBER(type, MAP_ARRAY);
    NUMBER(map_flags, MMAPABLE);
    NUMBER(max_entries, 1);
    TYPE(key, u32);
    TYPE(value, struct cpu);
} cpus SECTION(".maps");

struct {
    NUMBER(type, MAP_ARRAY);
    NUMBER(map_flags, MMAPABLE);
    NUMBER(max_entries, 1);
    TYPE(key, u32);
    TYPE(value, struct control);
} control SECTION(".maps");

struct stride {
    u64 pairs[STRIDES];
};

struct {
    NUMBER(type, MAP_ARRAY);
    NUMBER(map_flags, MMAPABLE);
    NUMBER(max_entries, 1);
    TYPE(key, u32);
    TYPE(value, struct stride);
} strides SECTION(".maps");

struct {
    NUMBER(type, MAP_ARRAY);
    NUMBER(map_flags, MMAPABLE);
    NUMBER(max_entries, 1);
    TYPE(key, u32);
    TYPE(value, struct chain);
} chains SECTION(".maps");

// The callers of the hit at hand, one a CPU. The second half is room for the
// program's part to begin anywhere in the first.
struct gathered {
    u64 kernel, user;
    // Bits that any of them has, and what tells chains apart.
    u64 any, hash;
    u64 frames[2 * FRAMES];
};

struct {
    NUMBER(type, MAP_ARRAY);
    NUMBER(max_entries, 1);
    TYPE(key, u32);
    TYPE(value, struct gathered);
} gathering SECTION(".maps");

const volatile struct settings settings = {};

struct hit {
    void *context; // of the program
    const struct gathered *callers; // 0: not asked for
    u64 ip;
    u64 user;  // 1 in user mode
    u64 task;  // process << 32 | thread
    u64 address, period, weight, data_src;
    const struct pt_regs *registers;
};

// Its number in perf's order.
#define STACK 7

// In perf's order of numbers. Volatile: a value is loaded where it is used,
// as on the stack it would be stored and loaded again. `number` is known when
// this is compiled.
INLINE u64 register_of(const struct hit *hit, int number)
{
#define AT(place, name) \
    case place:         \
        return *(const volatile u64 *)&hit->registers->name
    switch (number) {
        AT(0, ax);
        AT(1, bx);
        AT(2, cx);
        AT(3, dx);
        AT(4, si);
        AT(5, di);
        AT(6, bp);
        AT(7, sp);
        AT(8, flags);
        AT(9, r8);
        AT(10, r9);
        AT(11, r10);
        AT(12, r11);
        AT(13, r12);
        AT(14, r13);
        AT(15, r14);
        AT(16, r15);
    }
#undef AT
    return 0;
}

// Where a run writes.
struct run {
    struct control *shared;
    struct cpu *cpu;
    struct counts *counts;
    u64 epoch;
};

// Where this CPU's words are.
INLINE int find(struct run *run)
{
    u32 zero = 0, number = get_smp_processor_id();
    run->shared = map_lookup(&control, &zero);
    run->cpu = map_lookup(&cpus, &number);
    return run->shared && run->cpu;
}

// Says that this CPU writes, and which epoch to.
//
// The reader stores the next epoch, then waits while a CPU's word is odd and
// not of that epoch. Both sides store, pass a full barrier (the exchange
// here), then load what the other has stored, so at least one sees the other.
// The epoch that is written to is what the second load gives. Whoever stores
// a later one after that load sees the mark, whichever epoch it names, and
// waits: none that it names is the new one. Who passes on a mark of the new
// epoch reads the one before, and it was there when that load was made. Loads
// stay before later stores on x86-64, so nothing is written to a table before
// its last reading is over. crates/recorder/src/in_kernel/tests/interleavings.rs tries
// them all.
INLINE void enter(struct run *run)
{
    struct control *shared = run->shared;
    struct cpu *cpu = run->cpu;
    u64 epoch = *(volatile u64 *)&shared->epoch;
    __sync_lock_test_and_set(&cpu->busy, epoch * 2 + 1);
    epoch = *(volatile u64 *)&shared->epoch;
    struct counts *counts = &cpu->counts[epoch & 1];
    if (counts->epoch != epoch) {
        counts->epoch = epoch;
        counts->seen = 0;
        counts->used = 0;
        for (int i = 0; i < WHYS; i++)
            counts->why[i] = 0;
    }
    counts->seen++;
    run->counts = counts;
    run->epoch = epoch;
}

// The last store of a run. x86-64 keeps stores in order; the compiler must.
INLINE void leave(struct run *run)
{
    asm volatile("" ::: "memory");
    *(volatile u64 *)&run->cpu->busy = run->epoch * 2;
}

// The task in the pid namespace of who asked; all ones outside of it.
INLINE u64 current_task(void)
{
    if (!settings.namespace_inode)
        return get_current_pid_tgid();
    struct {
        u32 tid, pid;
    } ids;
    if (get_ns_current_pid_tgid(settings.namespace_device, settings.namespace_inode, &ids,
                                sizeof ids))
        return ~0ull;
    return (u64)ids.pid << 32 | ids.tid;
}

INLINE int is_listed(u64 id, const volatile u64 *list, u64 length)
{
#pragma unroll
    for (u32 i = 0; i < 8; i++)
        if (i < length && list[i] == id)
            return 1;
    return 0;
}

// Whether the task is in a control group or below it. Of levels, the root is
// 0; which one the group is on is not known inside of a cgroup namespace.
INLINE int is_below(u64 group)
{
    for (s32 level = 0; level < DEEPEST; level++) {
        u64 ancestor = get_current_ancestor_cgroup_id(level);
        if (ancestor == group)
            return 1;
        if (!ancestor)
            return 0;
    }
    return 0;
}

// Frames of a part of the chain, as many as the kernel gives, none where it
// fails.
INLINE u64 frames_of(void *context, u64 *into, u64 flags)
{
    s64 bytes = get_stack(context, into, FRAMES * sizeof(u64), flags);
    if (bytes < 0)
        return 0;
    u64 frames = (u64)bytes / sizeof(u64);
    return frames < FRAMES ? frames : FRAMES;
}

// Gathers the callers of a hit: the kernel's where it was in the kernel and
// may be shown. A chain that does not begin with what was hit is none, as
// where the kernel has no room to follow it.
INLINE void gather(struct hit *hit)
{
    u32 number = get_smp_processor_id();
    struct gathered *all = map_lookup(&gathering, &number);
    hit->callers = all;
    if (!all)
        return;
    u64 kernel = 0, user = 0;
    if (!hit->user)
        kernel = settings.user_only ? 0 : frames_of(hit->context, all->frames, 0);
    if (hit->user || kernel)
        user = frames_of(hit->context, all->frames + kernel, USER_STACK);
    if (user > FRAMES - kernel)
        user = FRAMES - kernel;
    all->kernel = kernel;
    all->user = user;
    // Of PMUs whose events are precise the first is where the CPU stood when
    // they interrupted it, a little later; a kernel that has made the sample
    // up already has a marker before it.
    all->frames[all->frames[0] >= CONTEXTS] = 0;
    u64 hash = settings.seed ^ kernel, length = kernel + user, any = 0;
    for (u32 i = 0; i < FRAMES && i < length; i++) {
        u64 frame = all->frames[i];
        any |= frame < CONTEXTS ? frame : 0;
        hash = (hash ^ frame) * 0x9e3779b97f4a7c15;
        hash ^= hash >> 29;
    }
    all->any = any;
    all->hash = hash | 1;
}

#define REFUSE(reason)                \
    do {                              \
        run->counts->why[reason]++;   \
        return 0;                     \
    } while (0)

// Whether a hit is kept; if not, its reason is counted: the first of these.
INLINE int keep(struct run *run, const struct hit *hit)
{
    // IBS gives the mode of the op, and the registers of the interrupt.
    if (settings.user_only && (!hit->user || hit->ip >> 63 || hit->address >> 63 ||
                               register_of(hit, STACK) >> 63))
        REFUSE(SCRUBBED);
    if (settings.pids && !is_listed(hit->task >> 32, settings.pid, settings.pids))
        REFUSE(NOT_PID);
    if (settings.tids && !is_listed(hit->task & 0xffffffff, settings.tid, settings.tids))
        REFUSE(NOT_TID);
    if (settings.cgroup && !is_below(settings.cgroup))
        REFUSE(NOT_CGROUP);
    if (settings.comm_wanted) {
        u64 comm[2] = {};
        get_current_comm(comm, sizeof comm);
        if (comm[0] != settings.comm[0] || comm[1] != settings.comm[1])
            REFUSE(NOT_COMM);
    }
    if (settings.ip_wanted && (hit->ip < settings.ip_first || hit->ip > settings.ip_last))
        REFUSE(NOT_IP);
    if (settings.address_wanted &&
        (hit->address < settings.address_first || hit->address > settings.address_last))
        REFUSE(NOT_ADDRESS);
    if (settings.least_weight && hit->weight < settings.least_weight)
        REFUSE(NOT_WEIGHT);
    if (settings.data_src_mask && (hit->data_src & settings.data_src_mask) != settings.data_src_value)
        REFUSE(NOT_DATA_SRC);
    if (settings.one_in > 1) {
        if (++run->cpu->skipped < settings.one_in)
            REFUSE(NOT_ONE_IN);
        run->cpu->skipped = 0;
    }
    return 1;
}

// Below `below`, from Marsaglia's xorshift; the helper for random numbers
// costs a call.
INLINE u64 random_below(struct cpu *cpu, u64 below)
{
    u64 x = cpu->random;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    cpu->random = x;
    if (below >> 32)
        below = 0xffffffff;
    return (x >> 32) * below >> 32;
}

// Which word of strides counts a distance: its bits.
INLINE u32 width(u64 distance)
{
    u32 bits = 0;
#pragma unroll
    for (u32 step = 32; step; step /= 2)
        if (distance >> step) {
            distance >>= step;
            bits += step;
        }
    return bits + (distance != 0);
}

// Adds to the table of this CPU and epoch.
INLINE void add(struct run *run, struct hit *hit)
{
    if (settings.callers) {
        gather(hit);
        if (settings.user_only && hit->callers && hit->callers->any >> 63) {
            run->counts->why[SCRUBBED]++;
            return;
        }
    }
    u64 who = hit->user;
    if (settings.by_process)
        who |= hit->task >> 32 << 1;
    // Which sites share slots nobody can tell who does not know the seed: a
    // program could take all that another's site may be in.
    u64 callers = hit->callers ? hit->callers->hash : 0;
    u64 hash = (hit->ip ^ settings.seed ^ who * 0x9e3779b97f4a7c15 ^ callers) * 0xd6e8feb86659fd93;
    hash = (hash ^ hash >> 32) * (settings.seed | 1);
    u32 at = hash >> 32, index = 0;
    u64 table = (run->cpu->row * 2 + (run->epoch & 1)) * settings.slots;
    struct slot *slot = 0;
    if (run->cpu->row == NO_ROW)
        goto no_room;
    for (u32 probe = 0; probe < PROBES; probe++) {
        index = table + ((at + probe) & (settings.slots - 1));
        slot = map_lookup(&slots, &index);
        if (!slot)
            goto no_room;
        if (slot->epoch != run->epoch)
            goto fresh;
        if (slot->ip == hit->ip && slot->who == who && slot->hash == callers)
            goto known;
    }
no_room:
    run->counts->why[NO_ROOM]++;
    return;

    struct stride *stride;
    struct chain *chain;
    u64 now, length;
fresh:
    if (hit->callers) {
        chain = map_lookup(&chains, &index);
        if (!chain)
            goto no_room;
        chain->kernel = hit->callers->kernel;
        chain->user = hit->callers->user;
        length = chain->kernel + chain->user;
        for (u32 i = 0; i < FRAMES && i < length; i++)
            chain->frames[i] = hit->callers->frames[i];
    }
    now = ktime_get_ns();
    run->counts->used++;
    slot->epoch = run->epoch;
    slot->ip = hit->ip;
    slot->who = who;
    slot->hash = callers;
    slot->count = 0;
    slot->period = 0;
    slot->first = now;
    slot->lowest = ~0ull;
    slot->highest = 0;
    slot->process = (struct bits){ ~0ull, 0 };
    slot->address = (struct bits){ ~0ull, 0 };
    for (int i = 0; i < REGISTERS; i++)
        slot->registers[i] = (struct bits){ ~0ull, 0 };
    if (settings.strides) {
        stride = map_lookup(&strides, &index);
        if (stride)
            for (int i = 0; i < STRIDES; i++)
                stride->pairs[i] = 0;
    }
    goto count;
known:
    if (hit->callers) {
        // Others of the same hash have no room.
        chain = map_lookup(&chains, &index);
        if (!chain || chain->kernel != hit->callers->kernel || chain->user != hit->callers->user)
            goto no_room;
        length = chain->kernel + chain->user;
        for (u32 i = 0; i < FRAMES && i < length; i++)
            if (chain->frames[i] != hit->callers->frames[i])
                goto no_room;
    }
    now = ktime_get_ns();
    if (settings.strides) {
        u64 distance = hit->address - slot->before;
        if (hit->address < slot->before)
            distance = -distance;
        stride = map_lookup(&strides, &index);
        if (stride) {
            u64 word = width(distance);
            asm volatile("" : "+r"(word));
            if (word < STRIDES)
                stride->pairs[word]++;
        }
    }
count:;
    u64 count = ++slot->count;
    slot->period += hit->period;
    slot->last = now;
    slot->process.all &= hit->task >> 32;
    slot->process.any |= hit->task >> 32;
    if (settings.address) {
        if (hit->address < slot->lowest)
            slot->lowest = hit->address;
        if (hit->address > slot->highest)
            slot->highest = hit->address;
        slot->address.all &= hit->address;
        slot->address.any |= hit->address;
    }
    if (settings.strides)
        slot->before = hit->address;
#pragma unroll
    for (int i = 0; i < REGISTERS; i++) {
        u64 value = register_of(hit, i);
        slot->registers[i].all &= value;
        slot->registers[i].any |= value;
    }
    // Each hit stays with the same chance: the n-th is taken by RESERVOIR in n.
    u64 place = count <= RESERVOIR ? count - 1 : random_below(run->cpu, count);
    if (place < RESERVOIR) {
        // The verifier of Linux 6.1 forgets the bound of what was spilled.
        asm volatile("%0 &= 3" : "+r"(place));
        struct taken *taken = &slot->taken[place];
        taken->time = now;
        taken->task = hit->task;
        taken->address = hit->address;
        taken->period = hit->period;
        taken->weight = hit->weight;
        taken->data_src = hit->data_src;
#pragma unroll
        for (int i = 0; i < REGISTERS; i++)
            taken->registers[i] = register_of(hit, i);
    }
}
