#include "bochs.h"
#include "cpu/cpu.h"
#include "hot.h"
#include "branches.h"
#include <algorithm>

namespace pmu {

bool Predictor::mispredicts(Bit64u ip, bool taken)
{
  Bit8u &counter = strength[(ip >> 1 ^ ip >> 13) & 4095];
  bool wrong = (counter >= 2) != taken;
  if (taken && counter < 3) counter++;
  if (!taken && counter) counter--;
  return wrong;
}

Conditions conditions_of_branch(unsigned kind, bool mispredicted)
{
  Conditions found = BRANCH;
  if (kind == CONDITIONAL_TAKEN) found |= CONDITIONAL | CONDITIONAL_TAKEN_;
  if (kind == CONDITIONAL_NOT_TAKEN) found |= CONDITIONAL; else found |= TAKEN;
  if (kind == BX_INSTR_IS_CALL || kind == BX_INSTR_IS_CALL_INDIRECT) found |= CALL;
  if (kind == BX_INSTR_IS_CALL_INDIRECT || kind == BX_INSTR_IS_JMP_INDIRECT) found |= INDIRECT;
  if (kind == BX_INSTR_IS_RET) found |= RETURN;
  if (kind & FAR_BRANCH) found |= FAR_;
  if (!mispredicted) return found;
  found |= MISPREDICTED;
  if (found & CONDITIONAL) found |= MISPREDICTED_CONDITIONAL;
  if (found & TAKEN) found |= MISPREDICTED_TAKEN;
  return found;
}

// MSR_LBR_SELECT: SDM vol. 3B, 18.9.2.
bool LastBranches::is_left_out(unsigned kind, bool kernel) const
{
  if (select & (kernel ? 1 : 2)) return true;
  if (kind & FAR_BRANCH) return select & 0x100;
  switch (kind) {
  case CONDITIONAL_TAKEN: return select & 4;
  case BX_INSTR_IS_CALL: return select & 8;
  case BX_INSTR_IS_CALL_INDIRECT: return select & 0x10;
  case BX_INSTR_IS_RET: return select & 0x20;
  case BX_INSTR_IS_JMP_INDIRECT: return select & 0x40;
  case BX_INSTR_IS_JMP: return select & 0x80;
  }
  return false;
}

// EN_CALLSTACK, "LBR call stack" of SDM vol. 3B, 18.11: since Haswell a near return takes the last call out. One that
// nobody called takes what lies there all the same; a call that does not return (longjmp, a call of the next
// instruction) stays.
bool LastBranches::has_call_stack() const
{
  constexpr Bit64u EN_CALLSTACK = 0x200;
  return format >= 4 && select & EN_CALLSTACK;
}

void LastBranches::note(unsigned kind, bool kernel, Bit64u ip, Bit64u target, bool mispredicted, Bit64u cycle)
{
  constexpr Bit64u MISPREDICTED_BIT = BX_CONST64(1) << 63;
  if (!depth || is_left_out(kind, kernel)) return;
  if (kind == BX_INSTR_IS_RET && has_call_stack()) {
    top &= depth - 1;
    from[top] = to[top] = info[top] = 0;
    top = (top - 1) & (depth - 1);
    return;
  }
  top = (top + 1) & (depth - 1);
  from[top] = ip, to[top] = target;
  // Format 5 and later have a third register; 3 and 4 use the top of the first, which is a sign extension otherwise.
  info[top] = std::min<Bit64u>(cycle - last_cycle, 0xffff) | (mispredicted ? MISPREDICTED_BIT : 0);
  if (format == 3 || format == 4) from[top] = (ip & ~MISPREDICTED_BIT) | (mispredicted ? MISPREDICTED_BIT : 0);
  last_cycle = cycle;
}

LastBranches::Entry LastBranches::youngest(unsigned n) const
{
  if (!depth) return {};
  unsigned at = (top - n) & (depth - 1);
  return { from[at], to[at], info[at] };
}

Bit64u *LastBranches::msr(Bit32u x)
{
  if (!depth) return nullptr;
  if (depth == 4) { // Core: MSR_LASTBRANCH_0_FROM_IP 40H
    if (x >= 0x40 && x < 0x44) return &from[x - 0x40];
    if (x >= 0x60 && x < 0x64) return &to[x - 0x60];
    return x == 0x1c9 ? &top : nullptr;
  }
  if (x >= 0x680 && x < 0x680 + depth) return &from[x - 0x680];
  if (x >= 0x6c0 && x < 0x6c0 + depth) return &to[x - 0x6c0];
  if (format >= 5 && x >= 0xdc0 && x < 0xdc0 + depth) return &info[x - 0xdc0];
  return x == 0x1c8 ? &select : x == 0x1c9 ? &top : nullptr;
}

}
