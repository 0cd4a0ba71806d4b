// Processor event-based sampling: when a record is written, and where. SDM vol. 3B, 20.3.1.1.1 and 20.9 (PEBS), 18.4.9 (DS).
#ifndef PMU_PEBS_H
#define PMU_PEBS_H

#include "counters.h"
#include "branches.h"
#include "interrupts.h"

namespace pmu {

class Pebs {
public:
  Pebs(unsigned cpu, const Machine &machine, Counters &counters, LastBranches &branches, Interrupts &interrupts)
    : cpu(cpu), machine(machine), counters(counters), branches(branches), interrupts(interrupts) {}

  bool read(Bit32u index, Bit64u *value) const;
  bool write(Bit32u index, Bit64u value);

  // Whether this counter's events are waited for: it overflowed, and its record is still to be written.
  bool waits_for(unsigned number) const { return waiting >> number & 1; }
  // The kernel gave the counter another value: nothing of it is to be recorded any more.
  void forget(unsigned number) { waiting &= ~(BX_CONST64(1) << number); }
  // The counter overflowed with this instruction.
  void overflow(const Counting &counter);
  // An event of a counter that is waited for: notes that it is to be recorded, if PEBS is ready.
  void event(const Counting &counter);
  // The instruction is done: writes the record, if one is due.
  void retire(const Retired &retired) { if (now++, due || late_in) finish(retired); }
  bool is_late() const { return late_in; }

  Bit64u enable = 0;     // IA32_PEBS_ENABLE
  Bit64u records = 0, dropped = 0; // written, and for which there was no room

private:
  unsigned cpu;
  const Machine &machine;
  Counters &counters;
  LastBranches &branches;
  Interrupts &interrupts;
  Bit64u made = 0;       // records, whatever became of them
  Bit64u area = 0;       // IA32_DS_AREA
  Bit64u data_config = 0, frontend = 0;
  Bit64u waiting = 0, due = 0; // sets of counters
  const Counting *first = nullptr; // of those that are due
  Bit64u now = 0, armed_at[FIXED + 4] = {}, silent_until = 0; // in instructions
  // BX_PMU_BROKEN=ip: the record of an earlier instruction, that tells of a later one.
  unsigned late_in = 0;
  Bit64u late_status = 0;
  Counting late_counter = {};
  Access late_access = {};

  void finish(const Retired &retired);
  bool is_distributed(const Counting &counter) const;
  void reload(Bit64u status);
  void record(Bit64u status, const Counting &counter, const Access *access, Bit64u ip);
  bool store(const Bit64u *words, unsigned count);
  unsigned lay_out(Bit64u *words, Bit64u status, const Counting &counter, const Access *access, Bit64u ip);
};

}

#endif
