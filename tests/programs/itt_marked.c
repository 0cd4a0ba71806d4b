/* itt_marked: pages touched in tasks of ittnotify: outer 11, outer/inner 12,
 * a frame of the domain "frames" 13, an event "step" 14. Written for the real ittnotify. */
#include <ittnotify.h>

#include "pages.h"

int main(void)
{
    pages_map();
    __itt_domain *domain = __itt_domain_create("itt.tests");
    __itt_domain *frames = __itt_domain_create("frames");
    __itt_string_handle *outer = __itt_string_handle_create("outer");
    __itt_string_handle *inner = __itt_string_handle_create("inner");
    __itt_thread_set_name("main");
    __itt_task_begin(domain, __itt_null, __itt_null, outer);
    pages_touch(11);
    __itt_task_begin(domain, __itt_null, __itt_null, inner);
    pages_touch(12);
    __itt_task_end(domain);
    __itt_task_end(domain);
    __itt_frame_begin_v3(frames, NULL);
    pages_touch(13);
    __itt_frame_end_v3(frames, NULL);
    __itt_event step = __itt_event_create("step", 4);
    __itt_event_start(step);
    pages_touch(14);
    __itt_event_end(step);
    return 0;
}
