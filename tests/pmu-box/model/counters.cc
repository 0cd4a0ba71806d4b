#include "bochs.h"
#include "cpu/cpu.h"
#include "counters.h"

namespace pmu {

constexpr Bit64u USER = 1 << 16, KERNEL = 1 << 17, INTERRUPT = 1 << 20, ENABLE = 1 << 22;

Counters::Counters(unsigned cpu, const Machine &m) : cpu(cpu), machine(m), global_control((1 << m.counters) - 1) {}

Bit64u *Counters::intel_register(Bit32u x)
{
  const unsigned n = machine.counters;
  if (x >= 0xc1 && x < 0xc1 + n) return &value[x - 0xc1];                             // IA32_PMCx
  if (machine.full_width && x >= 0x4c1 && x < 0x4c1 + n) return &value[x - 0x4c1];    // IA32_A_PMCx
  if (x >= 0x186 && x < 0x186 + n) return &select[x - 0x186];                         // IA32_PERFEVTSELx
  if (x >= 0x309 && x < 0x309 + machine.fixed) return &fixed[x - 0x309];              // IA32_FIXED_CTRx
  switch (x) {
  case 0x1a6: case 0x1a7: return &offcore[x - 0x1a6];  // MSR_OFFCORE_RSP_x: kept, no event uses them
  case 0x38d: return &fixed_control;                   // IA32_FIXED_CTR_CTRL
  case 0x38e: return &global_status;                   // IA32_PERF_GLOBAL_STATUS
  case 0x38f: return &global_control;                  // IA32_PERF_GLOBAL_CTRL
  case 0x3f6: return machine.pebs_format > 0 ? &load_latency : nullptr; // MSR_PEBS_LD_LAT_THRESHOLD
  }
  return nullptr;
}

Bit64u *Counters::amd_register(Bit32u x)
{
  // PERF_CTL and PERF_CTR, six of each; the first four also under the numbers of the K7.
  if (x >= 0xc0010200 && x < 0xc0010200 + 2 * machine.counters)
    return x & 1 ? &value[(x - 0xc0010200) / 2] : &select[(x - 0xc0010200) / 2];
  if (x >= 0xc0010000 && x < 0xc0010004) return &select[x - 0xc0010000];
  if (x >= 0xc0010004 && x < 0xc0010008) return &value[x - 0xc0010004];
  return nullptr;
}

bool Counters::read(Bit32u index, Bit64u *into) const
{
  Counters *self = const_cast<Counters *>(this);
  if (machine.maker == Maker::Intel && index >= 0x390 && index <= 0x392) return *into = 0, true;
  const Bit64u *found = machine.maker == Maker::Amd ? self->amd_register(index) : self->intel_register(index);
  if (found) *into = *found;
  return found;
}

bool Counters::write(Bit32u index, Bit64u written)
{
  if (machine.maker == Maker::Intel) switch (index) {
  case 0x38e: return true;                             // read only
  case 0x390: global_status &= ~written; return true;  // IA32_PERF_GLOBAL_OVF_CTRL, from version 4 on STATUS_RESET
  case 0x391: global_status |= written; return true;   // IA32_PERF_GLOBAL_STATUS_SET
  }
  Bit64u *found = machine.maker == Maker::Amd ? amd_register(index) : intel_register(index);
  if (!found) return false;
  bool is_value = (found >= value && found < value + 8) || (found >= fixed && found < fixed + 4);
  // IA32_PMCx take 32 bits and extend their sign: SDM vol. 3B, 20.2.6.
  if (is_value && index >= 0xc1 && index < 0xc9) written = Bit64u(Bit64s(Bit32s(written)));
  *found = is_value ? written & COUNTER_MASK : written;
  return true;
}

int Counters::number_of_value(Bit32u index) const
{
  const Bit64u *found = const_cast<Counters *>(this)->intel_register(index);
  if (found >= value && found < value + 8) return found - value;
  if (found >= fixed && found < fixed + 4) return FIXED + (found - fixed);
  return -1;
}

bool Counters::read_number(Bit32u index, Bit64u *into) const
{
  unsigned n = index & 0xff;
  bool is_fixed = index >> 30 & 1;
  if (n >= (is_fixed ? machine.fixed : machine.counters)) return false;
  *into = is_fixed ? fixed[n] : value[n];
  return true;
}

void Counters::add(Counting counter)
{
  counter.tally = truth.is_open() ? truth.tally(cpu, counter.number, counter.select) : nullptr;
  wanted |= counter.meaning.conditions;
  counting[counting_count++] = counter;
}

void Counters::choose(Bit64u pebs_enable)
{
  const bool amd = machine.maker == Maker::Amd;
  counting_count = 0, wanted = 0;
  for (unsigned n = 0; n < machine.counters; n++) {
    Bit64u s = select[n];
    if (!(amd || global_control >> n & 1) || !(s & ENABLE) || !(s & (USER | KERNEL))) continue;
    Meaning meaning = meaning_of(s, machine.maker);
    if (meaning.kind == Kind::Unknown) continue;
    add({ &value[n], meaning, s, n, bool(s & KERNEL), bool(s & USER), bool(pebs_enable >> n & 1), bool(s & INTERRUPT),
      nullptr });
  }
  for (unsigned n = 0; n < machine.fixed; n++) {
    // Four bits each: kernel, user, any thread, interrupt (SDM vol. 3B, figure 20-2).
    unsigned control = fixed_control >> (4 * n) & 0xf;
    if (!(global_control >> (32 + n) & 1) || !(control & 3)) continue;
    Kind kind = n == 0 ? Kind::Instructions : n == 3 ? Kind::Slots : Kind::Cycles;
    // Bits 32 and up of PEBS_ENABLE are fixed counters' from format 4 on; before, load latency's.
    bool by_pebs = machine.pebs_format >= 4 && pebs_enable >> (32 + n) & 1;
    add({ &fixed[n], { kind, 0 }, FIXED + n, FIXED + n, bool(control & 1), bool(control & 2), by_pebs, bool(control & 8),
      nullptr });
  }
}

const Access *Counters::access_of(const Counting &c, const Retired &r) const
{
  switch (c.meaning.kind) {
  case Kind::Retirement: return r.with(c.meaning.conditions);
  case Kind::LoadLatency: return r.slow_load(load_latency);
  case Kind::StoreSample: return r.with(STORE);
  default: return r.access_count ? &r.accesses[0] : nullptr;
  }
}

}
