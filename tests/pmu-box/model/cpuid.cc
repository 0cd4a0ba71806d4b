// CPUID as the switches want it. The CPUs of Bochs say the rest as their originals do.
#include "bochs.h"
#include "cpu/cpu.h"
#include "cpu/cpuid.h"
#include "switches.h"

namespace pmu {

// Family and model of AMD's generations, as CPUID 1 has them.
static Bit32u zen_signature(unsigned zen) { return zen >= 5 ? 0x00b00f21 : zen >= 4 ? 0x00a10f11 : 0x00800f11; }

static void amend_intel(Bit32u leaf, cpuid_function_t *words)
{
  // A virtual PMU without DS, as KVM's: SDM vol. 2A, CPUID leaf 1; what intel_ds_init() asks for.
  if (leaf == 1 && !switches.debug_store) {
    words->edx &= ~(1u << 21);            // DS
    words->ecx &= ~(1u << 2 | 1u << 4);   // DTES64, DS-CPL
    words->ecx |= 1u << 31;               // runs under a hypervisor
  }
}

static void amend_amd(Bit32u leaf, cpuid_function_t *words)
{
  if (leaf == 1 || leaf == 0x80000001) words->eax = switches.zen > 1 ? zen_signature(switches.zen) : words->eax;
  if (leaf == 0x80000001 && switches.debug_store) words->ecx |= 1u << 10; // IBS: get_ibs_caps()
  // PPR for family 17h, CPUID 8000_001B: fetch and op sampling, counts that can be read and written, op counting,
  // branch targets, wide op counts, invalid RIPs, fused branches, extended fetch control; from Zen 4 on: samples of
  // third-level misses alone; from Zen 5 on: of slow loads alone.
  if (leaf == 0x8000001b) words->eax = 0x3ff | (switches.zen >= 4 ? 1 << 11 : 0);
}

void amend_cpuid(Bit32u leaf, Bit32u subleaf, cpuid_function_t *words)
{
  if (switches.off) return;
  static int maker; // 0: not asked yet
  if (!maker) {
    cpuid_function_t first;
    BX_CPU(0)->cpuid->get_cpuid_leaf(0, 0, &first);
    maker = first.ebx == 0x68747541 ? 2 : 1;
  }
  if (maker == 2) amend_amd(leaf, words); else amend_intel(leaf, words);
}

}
