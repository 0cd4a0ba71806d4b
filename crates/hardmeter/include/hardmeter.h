/* hardmeter for C and C++: regions of a run, and sampling from within.
 *
 * Regions take nothing to link: a mark is an instruction that the emulated PMU
 * of `ebs` knows and every CPU passes over, and a call if libhardmeter.so is
 * linked or preloaded, which `ebs --regions` needs. docs/regions.md says more.
 *
 * The sampler is in libhardmeter.so. A sampler is used by one thread at a
 * time. A child of fork(2) cannot use its parent's: all but hardmeter_close()
 * fail there. No signal is sent, nothing runs beside the program.
 */
#ifndef HARDMETER_H
#define HARDMETER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Regions ---------------------------------------------------------- */

/* In libhardmeter.so: the log that `ebs --regions` and samplers read. */
extern void hardmeter_log_begin(const char *name) __attribute__((weak));
extern void hardmeter_log_end(const char *name) __attribute__((weak));

/* The calling thread enters a region; `name`: up to 95 bytes. Regions lie one
 * inside the other. */
static inline void hardmeter_begin(const char *name)
{
#if defined(__x86_64__)
    __asm__ volatile(".byte 0x0f,0x1f,0x84,0x00,0x01,0x52,0x4d,0x48" ::"D"(name) : "memory");
#endif
    if (hardmeter_log_begin)
        hardmeter_log_begin(name);
}

/* It leaves the innermost region of this name; NULL: the innermost of all. */
static inline void hardmeter_end(const char *name)
{
#if defined(__x86_64__)
    __asm__ volatile(".byte 0x0f,0x1f,0x84,0x00,0x02,0x52,0x4d,0x48" ::"D"(name) : "memory");
#endif
    if (hardmeter_log_end)
        hardmeter_log_end(name);
}

/* ---- The sampler (link with -lhardmeter) ------------------------------- */

typedef struct hardmeter_sampler hardmeter_sampler;

enum hardmeter_tasks {
    HARDMETER_THIS_THREAD = 0,  /* the one that calls hardmeter_open() */
    HARDMETER_THIS_PROCESS = 1, /* all threads, and what they start */
    HARDMETER_PROCESS = 2,      /* another one, by its pid */
};

enum hardmeter_modes {
    HARDMETER_USER = 1,
    HARDMETER_KERNEL = 2,
};

/* Zero all of it, then set what is wanted. */
struct hardmeter_settings {
    size_t size;         /* sizeof(struct hardmeter_settings) */
    const char *event;   /* as of `ebs -t`: "l1_cache_miss", "page_fault" ... */
    uint64_t interval;   /* events a sample; 0: the type's default */
    uint32_t tasks;      /* enum hardmeter_tasks */
    int32_t pid;         /* of HARDMETER_PROCESS */
    uint32_t modes;      /* enum hardmeter_modes; 0: user */
    uint32_t ring_pages; /* of each CPU's ring; 0 chooses */
    uint32_t no_regions; /* 1: samples do not tell their regions */
};

struct hardmeter_sample {
    size_t size;          /* sizeof(struct hardmeter_sample) */
    uint64_t ip;          /* the instruction */
    uint64_t address;     /* the data address */
    uint32_t has_address; /* whether there is one */
    uint32_t is_exact;    /* whether `ip` caused the event, beyond doubt */
    uint64_t time;        /* ns; CLOCK_MONOTONIC unless no_regions */
    uint64_t period;      /* events that it stands for */
    uint64_t weight;      /* cycles or another cost; 0: not told */
    uint64_t data_source; /* perf_mem_data_src; 0: not told */
    int32_t pid, tid;
    uint32_t cpu;
    uint32_t reserved;
    uint64_t offset;      /* bytes from the routine's start */
    /* Texts hold until the next call of a function with this sampler. */
    const char *routine;  /* in brackets: why it has no name */
    const char *object;   /* file, or the kernel */
    const char *variable; /* of `address`; NULL: there is none */
    const char *regions;  /* "outer/inner"; NULL: in none */
};

/* kernel = delivered + lost. */
struct hardmeter_account {
    size_t size;         /* sizeof(struct hardmeter_account) */
    uint64_t kernel;     /* samples by the kernel's count; UINT64_MAX: it has none */
    uint64_t delivered;  /* samples that came */
    uint64_t lost;       /* samples that did not */
    uint64_t left_out;   /* of those that came, not what the event's type means */
    uint64_t lost_marks; /* of regions: there was no room for them between two calls */
};

/* Opens the events, which count nothing yet. NULL: why not, and what to do, is
 * in `error`, as far as it fits into `error_size` bytes. */
hardmeter_sampler *hardmeter_open(const struct hardmeter_settings *settings, char *error,
                  size_t error_size);
/* 0, or -1: see hardmeter_error(). */
int hardmeter_enable(hardmeter_sampler *sampler);
int hardmeter_disable(hardmeter_sampler *sampler);
/* 1: a sample; 0: none now; -1. While it is enabled, samples of the last moment
 * wait until no older one can come. Set sample->size before. */
int hardmeter_next(hardmeter_sampler *sampler, struct hardmeter_sample *sample);
/* Stops for good; the last samples can be asked for afterwards. Set
 * account->size before; NULL: no account is wanted. */
int hardmeter_finish(hardmeter_sampler *sampler, struct hardmeter_account *account);
/* What went wrong last, in a sentence. Never NULL. */
const char *hardmeter_error(hardmeter_sampler *sampler);
/* Stops sampling, frees all. NULL is passed over. */
void hardmeter_close(hardmeter_sampler *sampler);

#ifdef __cplusplus
}
#endif

#endif
