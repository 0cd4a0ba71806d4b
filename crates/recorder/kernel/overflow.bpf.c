// The programs of events that overflow: software events, breakpoints, PMUs.
#include "table.h"

// What lies behind the context, for what the context does not show: CO-RE
// moves the offsets to those of the running kernel.
#define OF_KERNEL __attribute__((preserve_access_index))

union perf_sample_weight {
    u64 full;
};
union perf_mem_data_src {
    u64 val;
};
struct perf_sample_data {
    u64 sample_flags;
    union perf_sample_weight weight;
    union perf_mem_data_src data_src;
} OF_KERNEL;
struct bpf_perf_event_data_kern {
    struct perf_sample_data *data;
} OF_KERNEL;

// Of sample_flags, as of perf_event_attr's sample_type.
#define WEIGHT (1 << 14 | 1 << 24)
#define DATA_SRC (1 << 15)
// What the kernel writes where a data source is not available (PERF_MEM_NA).
#define NOT_AVAILABLE (1 | 1 << 5 | 1 << 19 | 1 << 24 | 1 << 26)
#define FIELD_EXISTS 2

#define READ(into, field) \
    probe_read_kernel(&(into), sizeof(into), __builtin_preserve_access_index(&(field)))

INLINE void see_behind(struct overflow *context, struct hit *hit)
{
    struct bpf_perf_event_data_kern *behind = (void *)context;
    struct perf_sample_data *data = 0;
    // Linux 6.1 has them, and leaves unset what they do not name; before, all
    // was set. From 6.3 on the sample is made up before the program runs.
    u64 set = ~0ull;
    READ(data, behind->data);
    if (__builtin_preserve_field_info(data->sample_flags, FIELD_EXISTS))
        READ(set, data->sample_flags);
    if (settings.weight && set & WEIGHT)
        READ(hit->weight, data->weight.full);
    if (settings.data_src) {
        hit->data_src = NOT_AVAILABLE;
        if (set & DATA_SRC)
            READ(hit->data_src, data->data_src.val);
    }
}

INLINE void see(struct overflow *context, struct hit *hit)
{
    hit->context = context;
    hit->callers = 0;
    hit->ip = context->regs.ip;
    hit->user = (context->regs.cs & 3) != 0;
    hit->task = current_task();
    hit->address = context->addr;
    hit->period = context->sample_period;
    hit->weight = 0;
    hit->data_src = 0;
    hit->registers = &context->regs;
    if (settings.weight || settings.data_src)
        see_behind(context, hit);
}

// No ring: 0 tells the kernel to write no sample.
SECTION("perf_event") int aggregate(struct overflow *context)
{
    struct run run;
    struct hit hit;
    if (!find(&run))
        return 0;
    enter(&run);
    see(context, &hit);
    if (keep(&run, &hit))
        add(&run, &hit);
    leave(&run);
    return 0;
}

// 1 lets the sample into the ring.
SECTION("perf_event") int filter(struct overflow *context)
{
    struct run run;
    struct hit hit;
    if (!find(&run))
        return 0;
    enter(&run);
    see(context, &hit);
    int kept = keep(&run, &hit);
    leave(&run);
    return kept;
}

// Helpers that read the kernel are for programs under its licence; these
// sources are under the project's too.
char licence[] SECTION("license") = "Dual MIT/GPL";
