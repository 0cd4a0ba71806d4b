#define NEED_CPU_REG_SHORTCUTS 1
#include "bochs.h"
#include "cpu/cpu.h"
#include "hot.h"
#include "pebs.h"
#include "switches.h"

namespace pmu {

// Fields of the DS save area in 64-bit form: SDM vol. 3B, 18.4.9.1; `struct debug_store` of the kernel.
constexpr Bit64u PEBS_BASE = 0x20, PEBS_INDEX = 0x28, COUNTER_RESET = 0x40;
constexpr unsigned RESETS_OF_FIXED = 8; // follow those of eight counters
constexpr Bit64u BUFFER_OVERFLOW = BX_CONST64(1) << 62;

bool Pebs::read(Bit32u index, Bit64u *into) const
{
  if (machine.pebs_format < 0) return false;
  switch (index) {
  case 0x3f1: *into = enable; return true;                                    // IA32_PEBS_ENABLE
  case 0x600: *into = area; return true;                                      // IA32_DS_AREA
  case 0x3f2: *into = data_config; return machine.pebs_format >= 4;           // MSR_PEBS_DATA_CFG
  case 0x3f7: *into = frontend; return machine.pebs_format >= 3;              // MSR_PEBS_FRONTEND: kept, no event uses it
  }
  return false;
}

bool Pebs::write(Bit32u index, Bit64u written)
{
  Bit64u old;
  if (!read(index, &old)) return false;
  switch (index) {
  case 0x3f1: enable = written; break;
  case 0x600: area = written; break;
  case 0x3f2: data_config = written; break;
  case 0x3f7: frontend = written; break;
  }
  return true;
}

// Counters of precise distribution (PDIR, PDist) record the very event that overflows, at once: SDM vol. 3B,
// 20.3.4.4.2 and 20.9.6.
bool Pebs::is_distributed(const Counting &c) const
{
  constexpr Bit64u PREC_DIST = 0x1c0;
  if (machine.pebs_format >= 4) return c.number == FIXED || (machine.two_latencies && c.number == 0);
  return machine.full_width && c.number == 1 && (c.select & 0xffff) == PREC_DIST;
}

void Pebs::overflow(const Counting &c)
{
  armed_at[c.number] = is_distributed(c) ? now : now + switches.arm;
  waiting |= BX_CONST64(1) << c.number;
}

void Pebs::event(const Counting &c)
{
  if (now < armed_at[c.number] || (now < silent_until && !is_distributed(c))) return;
  if (!due) first = &c;
  due |= BX_CONST64(1) << c.number;
}

void Pebs::finish(const Retired &r)
{
  if (late_in && !--late_in) record(late_status, late_counter, late_access.length ? &late_access : nullptr, r.ip);
  if (!due) return;
  const Access *access = counters.access_of(*first, r);
  // While PEBS was being armed others may have overflowed: one record is for all of them. Before format 3 the
  // kernel takes such a one for a collision and drops it; from then on each of them has it (intel_pmu_drain_pebs_nhm()).
  Bit64u status = switches.arm ? waiting : due;
  waiting &= ~status, due = 0;
  silent_until = now + switches.shadow;
  reload(status);
  if (!switches.wrong_ip) return record(status, *first, access, r.ip);
  if (late_in) record(late_status, late_counter, late_access.length ? &late_access : nullptr, r.ip);
  late_in = 1 + random_below(8), late_status = status, late_counter = *first;
  late_access = access ? *access : Access{};
}

// The counters begin again from what the DS area says.
void Pebs::reload(Bit64u status)
{
  BX_CPU_C *c = BX_CPU(cpu);
  Bit32u watched = hot[cpu].watched;
  hot[cpu].watched = 0; // what the PMU reads and writes is no access of the program
  for (unsigned k = 0; k < counters.counting_count; k++) {
    const Counting &counting = counters.counting[k];
    if (!(status >> counting.number & 1)) continue;
    unsigned place = counting.number < FIXED ? counting.number : counting.number - FIXED + RESETS_OF_FIXED;
    Bit64u reset;
    c->access_read_linear(area + COUNTER_RESET + 8 * place, 8, 0, BX_READ, 0, &reset);
    *counting.value = reset & COUNTER_MASK;
  }
  hot[cpu].watched = watched;
}

void Pebs::record(Bit64u status, const Counting &counter, const Access *access, Bit64u ip)
{
  if (!area) return;
  Bit64u words[256];
  unsigned count = lay_out(words, status, counter, access, ip);
  const char *fate = "record";
  if (switches.hidden_loss && made % 8 == 7) fate = "hidden";
  else {
    Bit32u watched = hot[cpu].watched;
    hot[cpu].watched = 0;
    if (!store(words, count)) fate = "dropped", dropped++;
    hot[cpu].watched |= watched;
  }
  truth.write({ fate, cpu, counter.number, counter.select, made++, ip, hot[cpu].cpl, access }, BX_CPU(cpu));
}

// False: the buffer had no room.
bool Pebs::store(const Bit64u *words, unsigned count)
{
  BX_CPU_C *c = BX_CPU(cpu);
  Bit64u buffer[4]; // base, index, absolute maximum, threshold
  c->access_read_linear(area + PEBS_BASE, 32, 0, BX_READ, 0, buffer);
  Bit64u &index = buffer[1];
  const bool fits = index >= buffer[0] && index + count * 8 <= buffer[2];
  if (fits) {
    // Word by word: no access of Bochs' crosses a page here, for records are multiples of 8 bytes.
    for (unsigned k = 0; k < count; k++) {
      Bit64u word = words[k];
      c->access_write_linear(index + 8 * k, 8, 0, BX_WRITE, 0, &word);
    }
    index += count * 8;
    c->access_write_linear(area + PEBS_INDEX, 8, 0, BX_WRITE, 0, &index);
    records++;
    if (index < buffer[3]) return true;
  }
  counters.global_status |= BUFFER_OVERFLOW;
  interrupts.raise();
  return fits;
}

}
