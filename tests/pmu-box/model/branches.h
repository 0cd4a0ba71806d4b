// Branch prediction, and the record of the last branches (SDM vol. 3B, 18.4 to 18.12).
#ifndef PMU_BRANCHES_H
#define PMU_BRANCHES_H

#include "conditions.h"

namespace pmu {

// Two-bit counters by address: enough for branches to be mispredicted where they are hard.
class Predictor {
public:
  // Whether the branch at `ip` was mispredicted; learns.
  bool mispredicts(Bit64u ip, bool taken);
private:
  Bit8u strength[4096] = {};
};

class LastBranches {
public:
  LastBranches(unsigned format, unsigned depth) : format(format), depth(depth) {}

  struct Entry { Bit64u from, to, info; };
  void note(unsigned kind, bool kernel, Bit64u from, Bit64u to, bool mispredicted, Bit64u cycle);
  // The n-th youngest, as PEBS records hold it.
  Entry youngest(unsigned n) const;
  // The register behind an MSR; null: none of these.
  Bit64u *msr(Bit32u index);
  // MSR_LBR_SELECT: kinds that are left out, and whether returns take calls out.
  Bit64u select = 0;
private:
  unsigned format, depth;
  Bit64u from[32] = {}, to[32] = {}, info[32] = {};
  Bit64u top = 0, last_cycle = 0;
  bool is_left_out(unsigned kind, bool kernel) const;
  bool has_call_stack() const;
};

// What a branch of this kind is.
Conditions conditions_of_branch(unsigned kind, bool mispredicted);

}

#endif
