// The counters and what controls them: SDM vol. 3B, chapter 20 (architectural performance monitoring);
// APM vol. 2, 13.2 for AMD's.
#ifndef PMU_COUNTERS_H
#define PMU_COUNTERS_H

#include "events.h"
#include "retired.h"
#include "truth.h"

namespace pmu {

constexpr Bit64u COUNTER_MASK = (BX_CONST64(1) << 48) - 1;
constexpr unsigned FIXED = 32; // number of the first fixed counter

// A counter that counts now.
struct Counting {
  Bit64u *value;
  Meaning meaning;
  Bit64u select;     // as programmed; of fixed counters their number
  unsigned number;
  bool in_kernel, in_user, by_pebs, interrupts;
  Tally *tally;
};

class Counters {
public:
  Counters(unsigned cpu, const Machine &machine);

  // The MSRs; false: it is none of these. What PEBS must know of writes comes by `written`.
  bool read(Bit32u index, Bit64u *value) const;
  bool write(Bit32u index, Bit64u value);
  bool read_number(Bit32u rdpmc_index, Bit64u *value) const;

  // The number of the counter whose value is behind the MSR; -1: none's.
  int number_of_value(Bit32u index) const;
  // Finds out anew what counts; `pebs_enable` is the MSR of that name.
  void choose(Bit64u pebs_enable);
  // How many events of a counter the instruction is; 0: none, or at a privilege that is not wanted.
  // Here, since it runs for each counter and instruction.
  Bit64u amount(const Counting &c, const Retired &r) const
  {
    if (!(r.cpl ? c.in_user : c.in_kernel)) return 0;
    switch (c.meaning.kind) {
    case Kind::Unknown: return 0;
    case Kind::Instructions: return r.whole;
    case Kind::Cycles: return r.cycles;
    case Kind::Slots: return 4 * r.cycles;
    case Kind::Retirement: return (r.conditions & c.meaning.conditions) != 0;
    case Kind::LoadLatency: return r.conditions & LOAD && r.slow_load(load_latency);
    case Kind::StoreSample: return (r.conditions & STORE) != 0;
    }
    return 0;
  }
  // The access that an event of the counter is about; null: none.
  const Access *access_of(const Counting &counter, const Retired &retired) const;

  Counting counting[12];
  unsigned counting_count = 0;
  Conditions wanted = 0;         // by any of them
  Bit64u global_status = 0;      // IA32_PERF_GLOBAL_STATUS
  Bit64u load_latency = 0;       // MSR_PEBS_LD_LAT_THRESHOLD

private:
  unsigned cpu;
  const Machine &machine;
  Bit64u select[8] = {}, value[8] = {}, fixed[4] = {}, fixed_control = 0, global_control;
  Bit64u offcore[2] = {};
  Bit64u *intel_register(Bit32u index);
  Bit64u *amd_register(Bit32u index);
  void add(Counting counter);
};

}

#endif
