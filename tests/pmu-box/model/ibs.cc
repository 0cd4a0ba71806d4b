#define NEED_CPU_REG_SHORTCUTS 1
#include "bochs.h"
#include "cpu/cpu.h"
#include "ibs.h"
#include "switches.h"
#include "truth.h"

namespace pmu {

static constexpr Bit64u bit(unsigned n) { return BX_CONST64(1) << n; }

// IBS_OP_CTL, MSRC001_1033.
constexpr Bit64u OP_L3_MISS_ONLY = bit(16), OP_ENABLE = bit(17), OP_VALID = bit(18), OP_COUNTS_OPS = bit(19);
constexpr unsigned OP_CURRENT = 32;
constexpr Bit64u OP_CURRENT_MASK = 0x7ffffff;
// IBS_FETCH_CTL, MSRC001_1030.
constexpr Bit64u FETCH_ENABLE = bit(48), FETCH_VALID = bit(49), FETCH_COMPLETE = bit(50), FETCH_L3_MISS_ONLY = bit(59);
constexpr unsigned FETCH_CURRENT = 16, FETCH_LATENCY = 32;
// IBS_CTL, MSRC001_103A: the entry of the extended LVT, valid. Linux wants one that the firmware has set
// (get_ibs_lvt_offset()).
constexpr Bit64u LVT_ENTRY = 3, LVT_VALID = bit(8);

Bit64u *Ibs::msr(Bit32u x)
{
  switch (x) {
  case 0xc0011030: return &fetch.control;
  case 0xc0011031: return &fetch.linear;
  case 0xc0011032: return &fetch.physical;
  case 0xc0011033: return &op.control;
  case 0xc0011034: return &op.ip;
  case 0xc0011035: return &op.data;
  case 0xc0011036: return &op.data2;
  case 0xc0011037: return &op.data3;
  case 0xc0011038: return &op.linear;
  case 0xc0011039: return &op.physical;
  case 0xc001103b: return &op.target;
  case 0xc001103c: return &fetch.extended; // IC_IBS_EXTD_CTL
  }
  return nullptr;
}

bool Ibs::read(Bit32u index, Bit64u *value) const
{
  if (index == 0xc001103a) return *value = LVT_ENTRY | LVT_VALID, true;
  const Bit64u *found = const_cast<Ibs *>(this)->msr(index);
  if (found) *value = *found;
  return found;
}

bool Ibs::write(Bit32u index, Bit64u value)
{
  if (index == 0xc001103a) return true; // read only
  Bit64u *found = msr(index);
  if (found) *found = value;
  return found;
}

void Ibs::retire(const Retired &r)
{
  if (op.control & OP_ENABLE && !(op.control & OP_VALID)) count_op(r);
  if (fetch.control & FETCH_ENABLE && !(fetch.control & FETCH_VALID)) count_fetch(r);
}

// With L3MissOnly the op that is tagged must have missed, or the next is looked for (PPR of Zen 4, IBS_OP_CTL[16]).
bool Ibs::is_wanted(const Retired &r) const
{
  return zen < 4 || !(op.control & OP_L3_MISS_ONLY) || r.conditions & L3_MISS;
}

void Ibs::count_op(const Retired &r)
{
  // Bits 19:4 and, with the wide counts that CPUID promises, 26:20.
  Bit64u most = (op.control & 0xffff) << 4 | (op.control & bit(27) - bit(20));
  Bit64u current = op.control >> OP_CURRENT & OP_CURRENT_MASK;
  current += op.control & OP_COUNTS_OPS ? 1 : r.cycles;
  ops_counted++;
  if (most && current >= most) {
    current = 0;
    if (is_wanted(r)) tag(r);
  }
  op.control = (op.control & ~(OP_CURRENT_MASK << OP_CURRENT)) | current << OP_CURRENT;
}

void Ibs::tag(const Retired &r)
{
  op.control |= OP_VALID;
  op.ip = r.ip;
  constexpr Bit64u COMPLETION_TO_RETIREMENT = 5, TAG_TO_RETIREMENT = 20;
  op.data = COMPLETION_TO_RETIREMENT | TAG_TO_RETIREMENT << 16;
  if (r.conditions & RETURN) op.data |= bit(34);
  if (r.conditions & TAKEN) op.data |= bit(35);
  if (r.conditions & MISPREDICTED) op.data |= bit(36);
  if (r.conditions & BRANCH) op.data |= bit(37), op.target = r.branch_target;
  describe_access(r);
  samples++;
  const Access *access = r.access_count ? &r.accesses[0] : nullptr;
  truth.write({ "ibs_op", cpu, 0, op.control & (OP_COUNTS_OPS | OP_L3_MISS_ONLY), ops_counted, r.ip, r.cpl, access },
    BX_CPU(cpu));
  interrupts.raise_ibs(LVT_ENTRY);
}

static Bit64u width_code(Bit32u length)
{
  Bit64u code = 1;
  for (; length > 1; length >>= 1) code++;
  return code;
}

// IBS_OP_DATA2[2:0]: where a load's data came from. Up to Zen 3 a hit of the L3 is a hit of "another core's cache".
static Bit64u source_code(DataSource source, unsigned zen)
{
  switch (source) {
  case DataSource::Level1: case DataSource::Level2: return 0;
  case DataSource::Level3: case DataSource::OtherClean: case DataSource::OtherModified: return zen >= 4 ? 1 : 2;
  case DataSource::Memory: return 3;
  }
  return 0;
}

// IBS_OP_DATA2 and IBS_OP_DATA3 (MSRC001_1036, 1037).
void Ibs::describe_access(const Retired &r)
{
  op.data2 = op.data3 = op.linear = op.physical = 0;
  if (!r.access_count) return;
  const Access &a = r.accesses[0];
  constexpr Bit64u LINEAR_VALID = bit(17), PHYSICAL_VALID = bit(18), NOT_MODIFIED = bit(5);
  Bit64u d = LINEAR_VALID | PHYSICAL_VALID | width_code(a.length) << 22 | Bit64u(a.walk_latency) << 48;
  for (unsigned k = 0; k < r.access_count; k++) d |= r.accesses[k].store ? bit(1) : bit(0);
  if (a.walk_latency) d |= bit(2);
  if (a.walked) d |= bit(3);
  if (a.conditions & (SPLIT_LOAD | SPLIT_STORE)) d |= bit(8);
  if (a.conditions & LOCKED) d |= bit(15);
  DataSource source = switches.wrong_source ? DataSource::Level2 : a.source;
  if (source != DataSource::Level1) d |= bit(7) | (a.store ? 0 : Bit64u(a.latency - a.walk_latency) << 32);
  if (source > DataSource::Level2) d |= bit(20);
  op.data3 = d;
  if (!a.store) op.data2 = source_code(source, zen) | (source == DataSource::OtherModified ? 0 : NOT_MODIFIED);
  op.linear = switches.wrong_address ? a.linear ^ WRONG_ADDRESS : a.linear;
  op.physical = a.physical;
}

void Ibs::count_fetch(const Retired &r)
{
  // Both counts are in units of 16 fetches.
  Bit64u most = fetch.control & 0xffff, current = fetch.control >> FETCH_CURRENT & 0xffff;
  if (++fetches_counted % 16 == 0) current++;
  if (most && current >= most) {
    // The count of a tagged fetch stands at its end: get_ibs_fetch_count() takes it from there.
    current = most;
    // No cache of instructions is modelled: nothing misses.
    if (zen < 4 || !(fetch.control & FETCH_L3_MISS_ONLY)) {
      fetch.control |= FETCH_VALID | FETCH_COMPLETE | BX_CONST64(3) << FETCH_LATENCY;
      fetch.linear = r.ip, fetch.physical = 0;
      samples++;
      truth.write({ "ibs_fetch", cpu, 0, 0, fetches_counted, r.ip, r.cpl, nullptr }, BX_CPU(cpu));
      interrupts.raise_ibs(LVT_ENTRY);
    } else current = 0;
  }
  fetch.control = (fetch.control & ~(BX_CONST64(0xffff) << FETCH_CURRENT)) | current << FETCH_CURRENT;
}

}
