#define NEED_CPU_REG_SHORTCUTS 1
#include "bochs.h"
#include "cpu/cpu.h"
#include "cpu/cpuid.h"
#include "machine.h"
#include "switches.h"

namespace pmu {

// Records' format and what goes with it, by the oldest model that has it. Models: Intel SDM vol. 4, table 2-1;
// formats: SDM vol. 3B, 20.8 and 20.9; geometries: Intel's optimisation manual, chapter 2.
struct Generation {
  Bit32u model;
  int pebs_format;
  unsigned lbr_format, lbr_depth;
  bool full_width, addresses, precise_stores, two_latencies;
  Geometry l1, l2, dtlb, stlb;
};

static const Geometry L1_32K = { 64, 8 }, L1_48K = { 64, 12 }, L2_256K = { 512, 8 }, L2_512K = { 1024, 8 },
  L2_1M = { 1024, 16 }, L2_2M = { 2048, 16 }, DTLB_64 = { 16, 4 }, STLB_512 = { 128, 4 }, STLB_1024 = { 128, 8 },
  STLB_1536 = { 128, 12 }, STLB_2048 = { 128, 16 };

static const Generation GENERATIONS[] = {
  { 0x17, 0, 0, 4, false, false, false, false, L1_32K, { 4096, 24 }, DTLB_64, { 64, 4 } },       // Penryn
  { 0x1e, 1, 3, 16, false, false, false, false, L1_32K, L2_256K, DTLB_64, STLB_512 },            // Nehalem
  { 0x25, 1, 3, 16, false, false, false, false, L1_32K, L2_256K, DTLB_64, STLB_512 },            // Westmere
  { 0x2a, 1, 3, 16, true, false, true, false, L1_32K, L2_256K, DTLB_64, STLB_512 },              // Sandy Bridge
  { 0x3a, 1, 3, 16, true, false, true, false, L1_32K, L2_256K, DTLB_64, STLB_512 },              // Ivy Bridge
  { 0x3c, 2, 4, 16, true, true, false, false, L1_32K, L2_256K, DTLB_64, STLB_1024 },             // Haswell
  { 0x3d, 2, 4, 16, true, true, false, false, L1_32K, L2_256K, DTLB_64, STLB_1536 },             // Broadwell
  { 0x55, 3, 5, 32, true, true, false, false, L1_32K, L2_1M, DTLB_64, STLB_1536 },               // Skylake-X
  { 0x66, 3, 5, 32, true, true, false, false, L1_32K, L2_256K, DTLB_64, STLB_1536 },             // Cannon Lake
  { 0x7e, 4, 5, 32, true, true, false, false, L1_48K, L2_512K, DTLB_64, STLB_2048 },             // Ice Lake
  { 0x8c, 4, 5, 32, true, true, false, false, L1_48K, { 1024, 20 }, DTLB_64, STLB_2048 },        // Tiger Lake
  { 0x8f, 4, 5, 32, true, true, false, true, L1_48K, L2_2M, DTLB_64, STLB_2048 },                // Sapphire Rapids
};

static Bit32u family_of(Bit32u eax) { Bit32u f = eax >> 8 & 0xf; return f == 0xf ? f + (eax >> 20 & 0xff) : f; }
static Bit32u model_of(Bit32u eax) { return (eax >> 4 & 0xf) | (eax >> 12 & 0xf0); }

static Machine amd(Machine m)
{
  // Core performance counters: PPR for family 17h, 2.1.13; geometries: the same, 2.1.5 (CPUID 8000_0005, 8000_0006).
  m.maker = Maker::Amd;
  m.zen = switches.zen;
  m.counters = 6;
  m.l1 = L1_32K, m.l2 = m.zen >= 4 ? Geometry{ 2048, 8 } : L2_512K, m.dtlb = DTLB_64, m.stlb = STLB_1536;
  return m;
}

Machine machine_of(unsigned cpu)
{
  Machine m = {};
  cpuid_function_t leaf;
  auto cpuid = [&](Bit32u n) { BX_CPU(cpu)->cpuid->get_cpuid_leaf(n, 0, &leaf); amend_cpuid(n, 0, &leaf); };
  cpuid(1);
  m.family = family_of(leaf.eax), m.model = model_of(leaf.eax);
  bool debug_store = leaf.edx >> 21 & 1;
  m.pebs_format = -1;
  cpuid(0);
  if (leaf.ebx == 0x68747541) return amd(m); // "Auth"
  cpuid(0xa);
  m.maker = Maker::Intel;
  m.version = leaf.eax & 0xff, m.counters = leaf.eax >> 8 & 0xff, m.fixed = leaf.edx & 0x1f;
  const Generation *found = &GENERATIONS[7];
  for (const Generation &generation : GENERATIONS) if (generation.model == m.model) found = &generation;
  if (found->model != m.model)
    fprintf(stderr, "PMU: model %02x is not known: it gets the PMU of model %02x\n", m.model, found->model);
  m.pebs_format = debug_store ? found->pebs_format : -1;
  m.lbr_format = found->lbr_format, m.lbr_depth = debug_store ? found->lbr_depth : 0;
  m.full_width = found->full_width, m.addresses = found->addresses;
  m.precise_stores = found->precise_stores, m.two_latencies = found->two_latencies;
  m.l1 = found->l1, m.l2 = found->l2, m.dtlb = found->dtlb, m.stlb = found->stlb;
  return m;
}

}
