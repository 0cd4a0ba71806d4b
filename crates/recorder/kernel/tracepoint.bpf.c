// The programs of tracepoints. `hit` runs for every hit on the machine, before
// perf looks whose events want it, so it decides by itself whose hit it is.
// It always lets perf go on: others may be recording the same tracepoint.
#include "table.h"

// What a session of tracepoints is beside what each session is: read-only,
// and mirrored by crates/recorder/src/in_kernel/tracepoint.rs.
struct whose {
    u64 everyone;  // no process is asked for
    u64 held;      // process whose hits count from its exec on; 0: none
    u64 user_only; // exclude_kernel: other hits are none of the event's
    u64 interval;
    u64 of_system_call; // of the group syscalls
};
const volatile struct whose whose = {};

// One bit a process, by its number in the initial namespace: as many as
// PID_MAX_LIMIT allows.
#define WORDS (4 * 1024 * 1024 / 64)
struct {
    NUMBER(type, MAP_ARRAY);
    NUMBER(max_entries, WORDS);
    TYPE(key, u32);
    TYPE(value, u64);
} processes SECTION(".maps");

// As far as it is looked at; CO-RE finds the offsets of the running kernel.
struct task_struct {
    u32 flags;
    s32 pid, tgid;
    void *perf_event_ctxp;
} __attribute__((preserve_access_index));

// Before Linux 6.2: of PMUs, then of software events and tracepoints. CO-RE
// takes a name up to three underscores.
struct task_struct___before_6_2 {
    void *perf_event_ctxp[2];
} __attribute__((preserve_access_index));

#define IS_THERE(field) __builtin_preserve_field_info(field, 2) // BPF_FIELD_EXISTS

#define PF_FORKNOEXEC 0x00000040

// Whether a task has events still.
INLINE int has_events(struct task_struct *task)
{
    struct task_struct___before_6_2 *old = (void *)task;
    if (IS_THERE(old->perf_event_ctxp))
        return old->perf_event_ctxp[1] != 0;
    return task->perf_event_ctxp != 0;
}

INLINE u64 *word_of(u32 process)
{
    u32 index = process / 64 % WORDS;
    return map_lookup(&processes, &index);
}

// Whether perf would count the current task's hit for the session's events.
INLINE int is_counted(void)
{
    if (whose.everyone)
        return 1;
    u32 process = get_current_pid_tgid() >> 32;
    u64 *word = word_of(process);
    if (!word || !(*(volatile u64 *)word >> process % 64 & 1))
        return 0;
    struct task_struct *task = get_current_task_btf();
    u32 flags = task->flags;
    // Cleared by its exec, just before perf enables what waited for that.
    if (process == whose.held && flags & PF_FORKNOEXEC)
        return 0;
    // Nobody's, so not the session's: the last steps of a task that has given
    // them back, or a set-user-ID program, which the kernel takes them from.
    return has_events(task);
}

// Of a word whose upper parts newer kernels use otherwise.
INLINE int is_user(const struct pt_regs *regs)
{
    return (*(const u16 *)&regs->cs & 3) != 0;
}

INLINE void see(void *context, const struct pt_regs *regs, struct hit *hit)
{
    hit->context = context;
    hit->callers = 0;
    hit->ip = regs->ip;
    hit->user = is_user(regs);
    hit->task = current_task();
    hit->address = 0;
    hit->period = whose.interval;
    hit->weight = 0;
    hit->data_src = 0;
    hit->registers = regs;
}

// Every interval-th hit of this CPU is a sample.
INLINE int is_due(struct cpu *cpu)
{
    cpu->hits++;
    if (whose.interval > 1) {
        if (++cpu->since < whose.interval)
            return 0;
        cpu->since = 0;
    }
    return 1;
}

// The registers that perf's samples of the hit show. Those of a system call's
// entry or exit are the task's, and are read where they are; else
// perf_trace_run_bpf_submit() puts their place into the first word of the
// record, where programs may not load from.
INLINE const struct pt_regs *registers_of(void *context, struct pt_regs *copy)
{
    struct pt_regs *place = 0;
    if (whose.of_system_call)
        return task_pt_regs(get_current_task_btf());
    if (probe_read_kernel(&place, sizeof place, context))
        return 0;
    return probe_read_kernel(copy, sizeof *copy, place) ? 0 : copy;
}

SECTION("tracepoint") int hit(void *context)
{
    struct run run;
    struct hit hit;
    struct pt_regs copy;
    if (!is_counted() || !find(&run) || *(volatile u64 *)&run.shared->halted)
        return 1;
    const struct pt_regs *regs = registers_of(context, &copy);
    if (!regs || (whose.user_only && !is_user(regs)) || !is_due(run.cpu))
        return 1;
    enter(&run);
    see(context, regs, &hit);
    if (keep(&run, &hit))
        add(&run, &hit);
    leave(&run);
    return 1;
}

// Before a new process runs, and before anything of it can be hit: it is
// counted if its parent is. What its number meant before is forgotten, so
// nothing needs to be done when a process ends.
SECTION("raw_tracepoint") int forked(u64 *arguments)
{
    struct task_struct *parent = (void *)arguments[0], *child = (void *)arguments[1];
    s32 thread = 0, process = 0, of = 0;
    probe_read_kernel(&thread, sizeof thread, &child->pid);
    probe_read_kernel(&process, sizeof process, &child->tgid);
    if (thread != process)
        return 0;
    probe_read_kernel(&of, sizeof of, &parent->tgid);
    u64 *from = word_of(of), *to = word_of(process);
    if (!from || !to)
        return 0;
    u64 bit = 1ull << (process % 64u), is_set = *(volatile u64 *)to & bit;
    if (*(volatile u64 *)from >> of % 64u & 1)
        __sync_fetch_and_or(to, bit);
    else if (is_set)
        __sync_fetch_and_and(to, ~bit);
    return 0;
}

// Of a program that its caller may not look into the kernel has taken all
// events (begin_new_exec()); it and its children are not counted any more,
// whoever's events they get later.
SECTION("raw_tracepoint") int execed(void *arguments __attribute__((unused)))
{
    struct task_struct *task = get_current_task_btf();
    u32 process = get_current_pid_tgid() >> 32;
    u64 *word = word_of(process), bit = 1ull << (process % 64);
    if (word && *(volatile u64 *)word & bit && !has_events(task))
        __sync_fetch_and_and(word, ~bit);
    return 0;
}

// As the other program's.
char licence[] SECTION("license") = "Dual MIT/GPL";
