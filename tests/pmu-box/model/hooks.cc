// What Bochs calls.
#define NEED_CPU_REG_SHORTCUTS 1
#include "bochs.h"
#include "cpu/cpu.h"
#include "hot.h"
#include "pmu.h"
#include "switches.h"
#include <memory>
#include <stdlib.h>
#include <string>

namespace pmu {

Hot hot[MOST_CPUS];

static std::unique_ptr<Pmu> pmus[MOST_CPUS];

Pmu &pmu_of(unsigned cpu)
{
  if (!pmus[cpu]) {
    pmus[cpu] = std::make_unique<Pmu>(cpu);
    // Bochs draws for RDRAND by rand(), and a new CPU starts that with the time of day. Kernels place their stacks and
    // shuffle their free lists by it: no two runs were alike.
    srand(switches.seed);
  }
  return *pmus[cpu];
}

// One that counts needs what the others do to their caches.
void watch()
{
  bool any = false;
  for (const auto &pmu : pmus) any = any || (pmu && pmu->must_be_watched());
  for (unsigned cpu = 0; cpu < MOST_CPUS; cpu++) {
    if (!pmus[cpu]) continue;
    if (any && !hot[cpu].watched) pmus[cpu]->begun = false;
    hot[cpu].watched = any;
  }
}

void begin()
{
  read_switches();
  if (switches.off) return;
  read_events(switches.events);
  if (switches.log) truth.open(switches.log);
}

void end()
{
  typedef unsigned long long Word;
  for (unsigned cpu = 0; cpu < MOST_CPUS; cpu++) if (const Pmu *p = pmus[cpu].get())
    fprintf(stderr, "PMU%u: %llu instructions while watched, %llu PEBS records, %llu dropped, %llu IBS samples, "
      "%llu interrupts\n", cpu, Word(p->retired), Word(p->pebs.records), Word(p->pebs.dropped), Word(p->ibs.samples),
      Word(p->interrupts.delivered));
  truth.close();
}

void retire(unsigned cpu, bxInstruction_c *i)
{
  Pmu &p = *pmus[cpu];
  // The write that turned counting on is not counted, nor is what another CPU was in the middle of.
  if (!p.begun) { p.begun = true; return; }
  // A string instruction that an interrupt stopped begins again where it is.
  bool whole = !i->repUsedL() || BX_CPU(cpu)->get_rip() != hot[cpu].ip;
  p.retire(whole, i->getLock());
}

void access(unsigned cpu, Bit64u linear, Bit64u physical, unsigned length, unsigned memory_type, unsigned rw)
{
  if (rw == BX_EXECUTE || !length) return;
  if (BX_SUPPORT_MEMTYPE && memory_type == BX_MEMTYPE_UC) return;
  pmus[cpu]->note_access(linear, physical, length, rw);
}

void branch(unsigned cpu, unsigned kind, Bit64u to) { pmus[cpu]->note_branch(kind, to); }

void tlb_control(unsigned cpu, unsigned what, Bit64u value)
{
  if (!pmus[cpu]) return;
  MemoryPath &memory = pmus[cpu]->memory;
  switch (what) {
  case BX_INSTR_MOV_CR3: return memory.use_address_space(value);
  case BX_INSTR_INVLPG: return memory.forget_page(value);
  case BX_INSTR_MOV_CR4: case BX_INSTR_INVPCID: return memory.forget_pages();
  }
}

void flush_line(unsigned cpu, Bit64u physical) { MemoryPath::forget_line(physical >> 6); }
void flush_caches(unsigned cpu) { MemoryPath::forget_lines(); }

// A port that nothing else has (0xe9 beside it is the console of some): lines that a test writes there become marks,
// and change the switches that they name.
void port_written(Bit16u port, Bit32u value)
{
  static std::string line;
  if (port != 0xe8) return;
  if (char(value) != '\n') { line += char(value); return; }
  if (!line.compare(0, 7, "BX_PMU_")) change_switch(line.c_str());
  truth.mark(line.c_str());
  line.clear();
}

bool read_msr(unsigned cpu, Bit32u index, Bit64u *value) { return !switches.off && pmu_of(cpu).read(index, value); }
bool write_msr(unsigned cpu, Bit32u index, Bit64u value) { return !switches.off && pmu_of(cpu).write(index, value); }

bool read_counter(unsigned cpu, Bit32u index, Bit64u *value)
{
  return !switches.off && pmu_of(cpu).counters.read_number(index, value);
}

bool extended_lvt(unsigned cpu, unsigned apic_register, Bit32u **entry)
{
  if (switches.off || apic_register < 0x500 || apic_register > 0x530) return false;
  *entry = &pmu_of(cpu).interrupts.extended[(apic_register - 0x500) >> 4];
  return true;
}

}
