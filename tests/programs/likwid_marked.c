/* likwid_marked: pages touched in regions of likwid: copy 15, and triad 16,
 * which overlaps its end. Written for the real likwid. */
#include <likwid-marker.h>

#include "pages.h"

int main(void)
{
    pages_map();
    LIKWID_MARKER_INIT;
    LIKWID_MARKER_THREADINIT;
    LIKWID_MARKER_REGISTER("copy");
    LIKWID_MARKER_START("copy");
    pages_touch(15);
    LIKWID_MARKER_START("triad");
    LIKWID_MARKER_STOP("copy");
    pages_touch(16);
    LIKWID_MARKER_STOP("triad");
    LIKWID_MARKER_CLOSE;
    return 0;
}
