#define NEED_CPU_REG_SHORTCUTS 1
#include "bochs.h"
#include "cpu/cpu.h"
#include "cpu/apic.h"
#include "hot.h"
#include "interrupts.h"
#include "switches.h"
#include "truth.h"

namespace pmu {

unsigned random_below(unsigned limit)
{
  static Bit32u state = 12345;
  state = state * 1103515245 + 12345;
  return limit ? (state >> 16) % limit : 0;
}

void Interrupts::raise()
{
  if (!counters_in) counters_in = counters_skid = 1 + random_below(switches.skid);
  hot[cpu].watched = 1;
}

void Interrupts::raise_ibs(unsigned entry)
{
  if (!ibs_in) ibs_in = ibs_skid = 1 + random_below(switches.skid);
  ibs_entry = entry & 3;
}

void Interrupts::log(unsigned skid) const
{
  typedef unsigned long long Word;
  truth.line("interrupt cpu=%u ip=%llx cpl=%u next=%llx skid=%u\n", cpu, Word(hot[cpu].ip), hot[cpu].cpl,
    Word(BX_CPU(cpu)->gen_reg[BX_64BIT_REG_RIP].rrx), skid);
}

void Interrupts::deliver()
{
  bx_local_apic_c *apic = BX_CPU(cpu)->lapic;
  Bit32u entry = apic->read_aligned(BX_LAPIC_LVT_PERFMON);
  if (entry & MASKED) return;
  // Intel's masks itself until the kernel has dealt with it (perf_event_nmi_handler() and intel_pmu_handle_irq()
  // write APIC_LVTPC again).
  if (masks_itself) apic->set_lvt_entry(BX_LAPIC_LVT_PERFMON, entry | MASKED);
  delivered++;
  log(counters_skid);
  apic->deliver(entry & 0xff, entry >> 8 & 7, 0);
}

void Interrupts::deliver_ibs()
{
  Bit32u entry = extended[ibs_entry];
  if (entry & MASKED) return;
  delivered++;
  log(ibs_skid);
  BX_CPU(cpu)->lapic->deliver(entry & 0xff, entry >> 8 & 7, 0);
}

}
