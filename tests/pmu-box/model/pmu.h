// The PMU of one CPU, put together.
#ifndef PMU_PMU_H
#define PMU_PMU_H

#include "branches.h"
#include "counters.h"
#include "ibs.h"
#include "interrupts.h"
#include "memory.h"
#include "pebs.h"

namespace pmu {

class Pmu {
public:
  explicit Pmu(unsigned cpu);

  bool read(Bit32u index, Bit64u *value);
  bool write(Bit32u index, Bit64u value);
  void note_access(Bit64u linear, Bit64u physical, unsigned length, unsigned rw);
  void note_branch(unsigned kind, Bit64u to);
  void retire(bool whole, bool locked);
  bool must_be_watched() const;
  bool records_branches() const;

  const unsigned cpu;
  const Machine machine;
  MemoryPath memory;
  Predictor predictor;
  LastBranches branches;
  Counters counters;
  Interrupts interrupts;
  Pebs pebs;
  Ibs ibs;
  bool begun = false;     // the instruction that retires began while the CPU was watched
  Bit64u retired = 0;

private:
  static constexpr unsigned MOST_ACCESSES = 8; // of one instruction that are kept; all are counted
  Access accesses[MOST_ACCESSES];
  Bit64u debug_control = 0, misc_enable, capabilities;
  Bit64u cycles = 0, branch_target = 0;
  Bit32u stall = 0;       // cycles that the instruction in execution waits
  struct Write { Bit64u linear; unsigned length; } writes[8] = {}; // the latest stores
  unsigned next_write = 0;

  Bit64u *control(Bit32u index);
  void note(Bit64u linear, Bit64u physical, unsigned length, bool store);
  bool is_blocked(Bit64u linear, unsigned length) const;
  bool joins(Bit64u linear, bool store) const;
  void count(const Retired &now);
  void overflow(const Counting &counter);
};

// The PMU of a CPU; made when first asked for.
Pmu &pmu_of(unsigned cpu);
// Which CPUs are watched, after a change of one.
void watch();

}

#endif
