// What kind of PMU a CPU has, from what its CPUID says.
#ifndef PMU_MACHINE_H
#define PMU_MACHINE_H

namespace pmu {

// How big a cache or TLB is, in lines or pages; sets are a power of two.
struct Geometry { unsigned sets, ways; };

enum class Maker { Intel, Amd };

struct Machine {
  Maker maker;
  Bit32u family, model;
  unsigned version;          // of architectural performance monitoring; 0: none
  unsigned counters, fixed;  // how many
  int pebs_format;           // PERF_CAPABILITIES[11:8]; -1: no PEBS
  unsigned lbr_format;       // PERF_CAPABILITIES[5:0]
  unsigned lbr_depth;        // entries; 0: no LBR of the kinds before the architectural one
  bool full_width;           // counters can be written whole (PERF_CAPABILITIES[13])
  bool addresses;            // PEBS records hold the data address of any memory event
  bool precise_stores;       // an enable bit makes records hold a store's address
  bool two_latencies;        // of the instruction and of the cache; and with them precise distribution on counter 0
  unsigned zen;              // generation; 0: not AMD's
  Geometry l1, l2, dtlb, stlb;
};

Machine machine_of(unsigned cpu);

}

#endif
