/* Programs that are marked for ittnotify, without ittnotify: their tasks,
 * frames, events and regions become regions of hardmeter. Put the folder of this file
 * before that of the real one: cc -Ihardmeter/include -Ihardmeter/include/other.
 * What means nothing here (counters, metadata, synchronisation) is an empty
 * macro. __itt_pause() and __itt_resume() do nothing: steer with ebs --control. */
#ifndef HARDMETER_ITTNOTIFY_H
#define HARDMETER_ITTNOTIFY_H

#include "../hardmeter.h"

#include <stdlib.h>
#include <string.h>

typedef struct ___itt_domain {
    volatile int flags;
    const char *nameA;
} __itt_domain;

typedef struct ___itt_string_handle {
    const char *strA;
} __itt_string_handle;

typedef struct ___itt_id {
    unsigned long long d1, d2, d3;
} __itt_id;

typedef int __itt_event;

static const __itt_id __itt_null = {0, 0, 0};

static inline char *hardmeter_copied(const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = (char *)malloc(size);
    return copy ? (char *)memcpy(copy, text, size) : copy;
}

/* As ittnotify's: made once, never freed. */
static inline __itt_domain *__itt_domain_create(const char *name)
{
    __itt_domain *domain = (__itt_domain *)calloc(1, sizeof *domain);
    if (domain) {
        domain->flags = 1;
        domain->nameA = hardmeter_copied(name);
    }
    return domain;
}

static inline __itt_string_handle *__itt_string_handle_create(const char *name)
{
    __itt_string_handle *handle = (__itt_string_handle *)calloc(1, sizeof *handle);
    if (handle)
        handle->strA = hardmeter_copied(name);
    return handle;
}

static inline __itt_id __itt_id_make(void *address, unsigned long long extra)
{
    __itt_id id = {(unsigned long long)(uintptr_t)address, extra, 0};
    return id;
}

static inline void __itt_task_begin(const __itt_domain *domain, __itt_id task, __itt_id parent,
                    __itt_string_handle *name)
{
    (void)task, (void)parent;
    hardmeter_begin(name ? name->strA : domain ? domain->nameA : "task");
}

static inline void __itt_task_end(const __itt_domain *domain)
{
    (void)domain;
    hardmeter_end(NULL);
}

static inline void __itt_frame_begin_v3(const __itt_domain *domain, __itt_id *id)
{
    (void)id;
    hardmeter_begin(domain ? domain->nameA : "frame");
}

static inline void __itt_frame_end_v3(const __itt_domain *domain, __itt_id *id)
{
    (void)id;
    hardmeter_end(domain ? domain->nameA : "frame");
}

static inline void __itt_region_begin(const __itt_domain *domain, __itt_id id, __itt_id parent,
                      __itt_string_handle *name)
{
    (void)id, (void)parent;
    hardmeter_begin(name ? name->strA : domain ? domain->nameA : "region");
}

static inline void __itt_region_end(const __itt_domain *domain, __itt_id id)
{
    (void)domain, (void)id;
    hardmeter_end(NULL);
}

/* Numbers of events are those of their names, one list for each file that is
 * compiled. */
#define HARDMETER_MOST_EVENTS 256
static const char *hardmeter_events[HARDMETER_MOST_EVENTS];
static int hardmeter_events_made;

static inline __itt_event __itt_event_create(const char *name, int length)
{
    int number = __atomic_fetch_add(&hardmeter_events_made, 1, __ATOMIC_RELAXED);
    (void)length;
    if (number >= HARDMETER_MOST_EVENTS)
        return -1;
    hardmeter_events[number] = hardmeter_copied(name);
    return number;
}

static inline const char *hardmeter_event_name(__itt_event event)
{
    return event >= 0 && event < HARDMETER_MOST_EVENTS ? hardmeter_events[event] : NULL;
}

static inline int __itt_event_start(__itt_event event)
{
    const char *name = hardmeter_event_name(event);
    if (name)
        hardmeter_begin(name);
    return 0;
}

static inline int __itt_event_end(__itt_event event)
{
    const char *name = hardmeter_event_name(event);
    if (name)
        hardmeter_end(name);
    return 0;
}

#define __itt_domain_createA __itt_domain_create
#define __itt_string_handle_createA __itt_string_handle_create
#define __itt_event_createA __itt_event_create

#define __itt_pause() ((void)0)
#define __itt_resume() ((void)0)
#define __itt_detach() ((void)0)
#define __itt_thread_set_name(name) ((void)(name))
#define __itt_thread_ignore() ((void)0)
#define __itt_id_create(domain, id) ((void)(domain))
#define __itt_id_destroy(domain, id) ((void)(domain))
#define __itt_marker(domain, id, name, scope) ((void)(domain))
#define __itt_metadata_add(domain, id, key, type, count, data) ((void)(domain))
#define __itt_metadata_str_add(domain, id, key, data, length) ((void)(domain))
#define __itt_sync_create(address, type, name, attribute) ((void)(address))
#define __itt_sync_prepare(address) ((void)(address))
#define __itt_sync_acquired(address) ((void)(address))
#define __itt_sync_releasing(address) ((void)(address))
#define __itt_sync_cancel(address) ((void)(address))
#define __itt_sync_destroy(address) ((void)(address))

#endif
