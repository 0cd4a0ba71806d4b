// The instruction that retires: what PEBS and IBS tell of it.
#ifndef PMU_RETIRED_H
#define PMU_RETIRED_H

#include "memory.h"

namespace pmu {

struct Retired {
  Bit64u ip, branch_target, conditions;
  unsigned cpl;
  Bit32u cycles;           // that it took
  bool whole;              // false: a string instruction that an interrupt stopped, and that goes on later
  const Access *accesses;
  unsigned access_count;

  // The first access of which one of the conditions is true; null: none.
  const Access *with(Conditions wanted) const
  {
    for (unsigned k = 0; k < access_count; k++) if (accesses[k].conditions & wanted) return &accesses[k];
    return nullptr;
  }
  // The first load that took so many cycles; null: none.
  const Access *slow_load(Bit32u least) const
  {
    for (unsigned k = 0; k < access_count; k++)
      if (accesses[k].conditions & LOAD && accesses[k].latency >= least) return &accesses[k];
    return nullptr;
  }
};

}

#endif
