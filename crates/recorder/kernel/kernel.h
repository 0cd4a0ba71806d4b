// What the programs need of the kernel: its types, helpers and records, as
// far as they are ABI. No header of the system's is read, so that an object
// depends on these sources and on the compiler alone.
#pragma once

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef int s32;
typedef long long s64;

#define SECTION(name) __attribute__((section(name), used))
#define INLINE static inline __attribute__((always_inline))

// Of a map's description in .maps: numbers are lengths of array types, key
// and value are types pointed to; loaders read both from the object's BTF.
#define NUMBER(name, value) int(*name)[value]
#define TYPE(name, of) typeof(of) *name

#define MAP_ARRAY 2            // BPF_MAP_TYPE_ARRAY
#define MAP_HASH 1             // BPF_MAP_TYPE_HASH
#define MMAPABLE (1u << 10)    // BPF_F_MMAPABLE
#define USER_STACK (1u << 8)   // BPF_F_USER_STACK
#define CONTEXTS (-4095ull)    // PERF_CONTEXT_MAX: no address of a chain from here on

// Numbers of helpers in include/uapi/linux/bpf.h.
static void *(*const map_lookup)(const void *map, const void *key) = (void *)1;
static u64 (*const ktime_get_ns)(void) = (void *)5;
static u32 (*const get_smp_processor_id)(void) = (void *)8;
static u64 (*const get_current_pid_tgid)(void) = (void *)14;
static s64 (*const get_current_comm)(void *into, u32 size) = (void *)16;
static u64 (*const get_current_cgroup_id)(void) = (void *)80;
static s64 (*const get_stack)(void *context, void *into, u32 size, u64 flags) = (void *)67;
static s64 (*const probe_read_kernel)(void *into, u32 size, const void *from) = (void *)113;
static void *(*const get_current_task_btf)(void) = (void *)158;
static void *(*const task_pt_regs)(void *task) = (void *)175; // Linux 5.15
static s64 (*const get_ns_current_pid_tgid)(u64 device, u64 inode, void *into, u32 size) = (void *)120;
static u64 (*const get_current_ancestor_cgroup_id)(s32 level) = (void *)123;

// struct pt_regs of x86-64, arch/x86/include/uapi/asm/ptrace.h.
struct pt_regs {
    u64 r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di;
    u64 orig_ax, ip, cs, flags, sp, ss;
};

// struct bpf_perf_event_data, include/uapi/linux/bpf_perf_event.h: the
// context of BPF_PROG_TYPE_PERF_EVENT.
struct overflow {
    struct pt_regs regs;
    u64 sample_period;
    u64 addr;
};
