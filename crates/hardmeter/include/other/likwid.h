/* See likwid-marker.h: older programs include the whole of likwid for it. */
#ifndef LIKWID_H
#define LIKWID_H

#include "likwid-marker.h"

#endif
