#define NEED_CPU_REG_SHORTCUTS 1
#include "bochs.h"
#include "cpu/cpu.h"
#include "hot.h"
#include "pmu.h"
#include "switches.h"

namespace pmu {

// IA32_DEBUGCTL: SDM vol. 3B, 18.4.1.
constexpr Bit64u LBR = 1 << 0, FREEZE_LBRS_ON_PMI = 1 << 11;
constexpr Bit64u LBRS_FROZEN = BX_CONST64(1) << 58; // IA32_PERF_GLOBAL_STATUS

// IA32_PERF_CAPABILITIES: SDM vol. 3B, 20.8.
static Bit64u capabilities_of(const Machine &m)
{
  Bit64u found = m.lbr_format | (m.full_width ? 1 << 13 : 0);
  if (m.pebs_format < 0) return found & ~Bit64u(0x3f);
  constexpr Bit64u TRAP = 1 << 6, SAVES_REGISTERS = 1 << 7, FREEZES_IN_SMM = 1 << 12, BASELINE = 1 << 14;
  return found | TRAP | SAVES_REGISTERS | FREEZES_IN_SMM | Bit64u(m.pebs_format) << 8 | (m.pebs_format >= 4 ? BASELINE : 0);
}

// IA32_MISC_ENABLE: fast strings, performance monitoring, SpeedStep, MWAIT; no BTS, and without DS no PEBS.
static Bit64u misc_enable_of(const Machine &m)
{
  constexpr Bit64u NO_BTS = 1 << 11, NO_PEBS = 1 << 12;
  return 0x850081 | NO_BTS | (m.pebs_format < 0 ? NO_PEBS : 0);
}

Pmu::Pmu(unsigned cpu)
  : cpu(cpu), machine(machine_of(cpu)), memory(machine), branches(machine.lbr_format, machine.lbr_depth),
    counters(cpu, machine), interrupts(cpu, machine.maker == Maker::Amd),
    pebs(cpu, machine, counters, branches, interrupts), ibs(cpu, machine, interrupts),
    misc_enable(misc_enable_of(machine)), capabilities(capabilities_of(machine))
{
  truth.line("machine cpu=%u maker=%s family=%x model=%x counters=%u fixed=%u pebs_format=%d lbr=%u zen=%u\n", cpu,
    machine.maker == Maker::Amd ? "amd" : "intel", machine.family, machine.model, machine.counters, machine.fixed,
    machine.pebs_format, machine.lbr_depth, machine.zen);
}

bool Pmu::must_be_watched() const
{
  return counters.counting_count || interrupts.is_under_way() || pebs.is_late() || ibs.is_on() || debug_control & LBR;
}

bool Pmu::records_branches() const { return debug_control & LBR && !(counters.global_status & LBRS_FROZEN); }

Bit64u *Pmu::control(Bit32u index)
{
  if (machine.maker == Maker::Amd) return nullptr;
  switch (index) {
  case 0x1a0: return &misc_enable;
  case 0x1d9: return &debug_control;
  case 0x345: return &capabilities;
  }
  return branches.msr(index);
}

bool Pmu::read(Bit32u index, Bit64u *value)
{
  const bool amd = machine.maker == Maker::Amd;
  // IA32_BIOS_SIGN_ID: a microcode new enough for every quirk of the kernel's, e.g. intel_check_pebs_isolation().
  if (index == 0x8b) return *value = amd ? 0x8001138 : BX_CONST64(0x0f000000) << 32, true;
  if (const Bit64u *found = control(index)) return *value = *found, true;
  if (counters.read(index, value)) return true;
  return amd ? switches.debug_store && ibs.read(index, value) : pebs.read(index, value);
}

bool Pmu::write(Bit32u index, Bit64u value)
{
  if (switches.log_msrs) truth.line("msr cpu=%u index=%x value=%llx\n", cpu, index, (unsigned long long)value);
  if (index == 0x8b || index == 0x79) return true; // microcode: none is loaded
  if (index == 0x345) return machine.maker == Maker::Intel;
  bool known = true;
  if (Bit64u *found = control(index)) *found = value;
  else if (counters.write(index, value)) {
    int number = machine.maker == Maker::Intel ? counters.number_of_value(index) : -1;
    if (number >= 0) { pebs.forget(number); return true; }
    if (index == 0x390 || index == 0x3f6) return true;
  }
  else known = machine.maker == Maker::Amd ? switches.debug_store && ibs.write(index, value) : pebs.write(index, value);
  if (!known) return false;
  counters.choose(pebs.enable);
  watch();
  return true;
}

// A load of bytes of which a recent store wrote some, but not all: it waits until the store is done.
bool Pmu::is_blocked(Bit64u linear, unsigned length) const
{
  for (unsigned k = 1; k <= 8; k++) {
    const Write &w = writes[(next_write - k) & 7];
    if (w.linear >= linear + length || linear >= w.linear + w.length) continue;
    return linear < w.linear || linear + length > w.linear + w.length;
  }
  return false;
}

// Bochs tells an access across pages in two parts.
bool Pmu::joins(Bit64u linear, bool store) const
{
  const Hot &h = hot[cpu];
  if (linear & 0xfff || h.accesses <= h.iteration || h.accesses > MOST_ACCESSES) return false;
  const Access &last = accesses[h.accesses - 1];
  return last.store == store && last.linear + last.length == linear;
}

void Pmu::note(Bit64u linear, Bit64u physical, unsigned length, bool store)
{
  Hot &h = hot[cpu];
  Access found = memory.access(linear, physical, length, store);
  if (!store && counters.wanted & BLOCKED_LOAD && is_blocked(linear, length)) found.conditions |= BLOCKED_LOAD;
  if (store) writes[next_write++ & 7] = { linear, length };
  if (!store) stall += (found.latency - 4) / 4; // what is not hidden by other work
  if (joins(linear, store)) {
    MemoryPath::join(accesses[h.accesses - 1], found);
    h.conditions |= accesses[h.accesses - 1].conditions;
    return;
  }
  h.conditions |= found.conditions;
  if (h.accesses < MOST_ACCESSES) accesses[h.accesses++] = found;
}

void Pmu::note_access(Bit64u linear, Bit64u physical, unsigned length, unsigned rw)
{
  if (rw != BX_WRITE) note(linear, physical, length, false);
  // Bochs tells the write of a read-modify-write only by the read.
  if (rw != BX_READ) note(linear, physical, length, true);
}

void Pmu::note_branch(unsigned kind, Bit64u to)
{
  Hot &h = hot[cpu];
  bool conditional = kind == CONDITIONAL_TAKEN || kind == CONDITIONAL_NOT_TAKEN, taken = kind != CONDITIONAL_NOT_TAKEN;
  bool mispredicted = conditional && predictor.mispredicts(h.ip, taken);
  constexpr Bit32u REFILL = 15;
  if (mispredicted) stall += REFILL;
  branch_target = to;
  h.conditions |= conditions_of_branch(kind, mispredicted);
  if (taken && records_branches()) branches.note(kind, !h.cpl, h.ip, to, mispredicted, cycles);
}

void Pmu::retire(bool whole, bool locked)
{
  Hot &h = hot[cpu];
  if (locked && h.accesses) {
    h.conditions |= LOCKED;
    for (unsigned k = 0; k < h.accesses; k++) accesses[k].conditions |= LOCKED;
  }
  const Retired now = { h.ip, branch_target, h.conditions, h.cpl, 1 + stall, whole, accesses, h.accesses };
  stall = 0, cycles += now.cycles, retired++;
  const bool waited = interrupts.is_under_way() || pebs.is_late();
  if (waited) interrupts.pass();
  if (ibs.is_on()) ibs.retire(now);
  if (counters.counting_count) count(now);
  pebs.retire(now);
  if (waited && !must_be_watched()) watch();
}

void Pmu::count(const Retired &now)
{
  for (unsigned k = 0; k < counters.counting_count; k++) {
    Counting &c = counters.counting[k];
    Bit64u amount = counters.amount(c, now);
    if (!amount) continue;
    if (c.tally) (now.cpl ? c.tally->user : c.tally->kernel) += amount;
    Bit64u value = *c.value + amount;
    *c.value = value & COUNTER_MASK;
    if (switches.log_events && c.tally)
      truth.write({ "event", cpu, c.number, c.select, c.tally->user + c.tally->kernel, now.ip, now.cpl,
        counters.access_of(c, now) }, BX_CPU(cpu));
    if (value > COUNTER_MASK) {
      if (c.tally)
        truth.write({ "sample", cpu, c.number, c.select, c.tally->user + c.tally->kernel, now.ip, now.cpl,
          counters.access_of(c, now) }, BX_CPU(cpu));
      overflow(c);
    }
    if (c.by_pebs && pebs.waits_for(c.number)) pebs.event(c);
  }
}

void Pmu::overflow(const Counting &c)
{
  if (c.by_pebs) return pebs.overflow(c);
  if (machine.maker == Maker::Intel) counters.global_status |= BX_CONST64(1) << c.number;
  if (!c.interrupts) return;
  // "Streamlined freeze", SDM vol. 3B, 18.4.7 and 20.2.4.2: from version 4 on they stay frozen until the kernel clears
  // the status; before, it turns them on again.
  if (debug_control & FREEZE_LBRS_ON_PMI && debug_control & LBR) {
    if (machine.version >= 4) counters.global_status |= LBRS_FROZEN; else debug_control &= ~LBR;
  }
  interrupts.raise();
}

}
