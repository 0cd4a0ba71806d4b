// AMD's instruction-based sampling: APM vol. 2, 13.3; PPR for family 17h, 2.1.13.2; Linux: arch/x86/events/amd/ibs.c.
#ifndef PMU_IBS_H
#define PMU_IBS_H

#include "interrupts.h"
#include "retired.h"

namespace pmu {

class Ibs {
public:
  Ibs(unsigned cpu, const Machine &machine, Interrupts &interrupts) : cpu(cpu), zen(machine.zen), interrupts(interrupts) {}

  bool read(Bit32u index, Bit64u *value) const;
  bool write(Bit32u index, Bit64u value);
  bool is_on() const { return op.control >> 17 & 1 || fetch.control >> 48 & 1; }
  // An instruction retired: it counts as one op, and as one fetch.
  void retire(const Retired &retired);

  Bit64u samples = 0;

private:
  unsigned cpu, zen;
  Interrupts &interrupts;
  struct Op { Bit64u control, ip, data, data2, data3, linear, physical, target; } op = {};
  struct Fetch { Bit64u control, linear, physical, extended; } fetch = {};
  Bit64u ops_counted = 0, fetches_counted = 0;

  Bit64u *msr(Bit32u index);
  void count_op(const Retired &retired);
  void count_fetch(const Retired &retired);
  void tag(const Retired &retired);
  void describe_access(const Retired &retired);
  bool is_wanted(const Retired &retired) const;
};

}

#endif
