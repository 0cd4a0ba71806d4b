/* Programs that are marked for likwid, without likwid: their regions become
 * regions of hardmeter. As there, marks are compiled in with -DLIKWID_PERFMON
 * alone. Put the folder of this file before that of the real one:
 * cc -DLIKWID_PERFMON -Ihardmeter/include -Ihardmeter/include/other. */
#ifndef LIKWID_MARKER_H
#define LIKWID_MARKER_H

#ifdef LIKWID_PERFMON

#include "../hardmeter.h"

#define LIKWID_MARKER_INIT ((void)0)
#define LIKWID_MARKER_THREADINIT ((void)0)
#define LIKWID_MARKER_SWITCH ((void)0)
#define LIKWID_MARKER_REGISTER(regionTag) ((void)(regionTag))
#define LIKWID_MARKER_START(regionTag) hardmeter_begin(regionTag)
#define LIKWID_MARKER_STOP(regionTag) hardmeter_end(regionTag)
#define LIKWID_MARKER_CLOSE ((void)0)
#define LIKWID_MARKER_RESET(regionTag) ((void)(regionTag))
#define LIKWID_MARKER_WRITE_HWMETRICS(filename) ((void)(filename))
/* There are no counts to be had in the program itself. */
#define LIKWID_MARKER_GET(regionTag, nevents, events, time, count)                                 \
    ((void)(regionTag), (void)(events), *(nevents) = 0, *(time) = 0.0, *(count) = 0)

#else

#define LIKWID_MARKER_INIT
#define LIKWID_MARKER_THREADINIT
#define LIKWID_MARKER_SWITCH
#define LIKWID_MARKER_REGISTER(regionTag)
#define LIKWID_MARKER_START(regionTag)
#define LIKWID_MARKER_STOP(regionTag)
#define LIKWID_MARKER_CLOSE
#define LIKWID_MARKER_RESET(regionTag)
#define LIKWID_MARKER_WRITE_HWMETRICS(filename)
#define LIKWID_MARKER_GET(regionTag, nevents, events, time, count)

#endif

#endif
