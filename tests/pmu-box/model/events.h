// What a counter's event select means: read from the table that model-events prints from the catalogue.
#ifndef PMU_EVENTS_H
#define PMU_EVENTS_H

#include "conditions.h"
#include "machine.h"
#include <string>

namespace pmu {

enum class Kind : Bit8u {
  Unknown,
  Instructions,
  Cycles,
  Slots,       // of retirement: four a cycle
  Retirement,  // instructions of which any of the conditions is true
  LoadLatency, // loads that took at least so many cycles
  StoreSample, // stores, with how long they took
};

struct Meaning {
  Kind kind = Kind::Unknown;
  Conditions conditions = 0;
};

// Reads the table; ends the program when a line is wrong.
void read_events(const char *path);
// What IA32_PERFEVTSELx or AMD's PERF_CTL counts.
Meaning meaning_of(Bit64u select, Maker maker);

}

#endif
