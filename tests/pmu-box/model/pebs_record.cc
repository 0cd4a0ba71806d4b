// Layouts of PEBS records: "PEBS Record Format" of each core in SDM vol. 3B, 20.3 and 20.5, and
// 20.9.2 (adaptive, from Ice Lake on); `struct pebs_record_*` and `struct pebs_basic` of the kernel's ds.c.
#define NEED_CPU_REG_SHORTCUTS 1
#include "bochs.h"
#include "cpu/cpu.h"
#include "pebs.h"
#include "switches.h"

namespace pmu {

// MSR_PEBS_DATA_CFG.
constexpr Bit64u MEMORY_GROUP = 1, REGISTER_GROUP = 2, XMM_GROUP = 4, LBR_GROUP = 8;
constexpr Bit64u SIZE_SHIFT = 48;

// Where loads found their data, as PEBS says it: "Data Source Encoding", SDM vol. 3B, 20.3.1.1.2; pebs_data_source of the kernel.
static Bit64u source_code(DataSource source)
{
  switch (source) {
  case DataSource::Level1: return 1;
  case DataSource::Level2: return 3;
  case DataSource::Level3: return 4;
  case DataSource::OtherClean: return 6;
  case DataSource::OtherModified: return 7;
  // Local. 12, which told lines that no other cache has apart, is another socket's cache from Skylake on.
  case DataSource::Memory: return 10;
  }
  return 0;
}

static Bit64u source_word(const Access &a, bool source_of_stores)
{
  constexpr Bit64u WALKED = 1 << 4, LOCK = 1 << 5, STORE_HIT_L1 = 1;
  Bit64u word = (a.walked ? WALKED : 0) | (a.conditions & LOCKED ? LOCK : 0);
  if (switches.wrong_source) return word | source_code(DataSource::Level2);
  if (!a.store || source_of_stores) return word | source_code(a.source);
  return word | (a.source == DataSource::Level1 ? STORE_HIT_L1 : 0);
}

// Address, source, latency, transaction; Extended ones have two latencies.
struct MemoryFields { Bit64u address, source, latency, transaction; };

static MemoryFields memory_fields(const Machine &m, const Counting &c, const Access *a, Bit64u enable, bool aborted)
{
  MemoryFields f = {};
  // "Intel TSX and PEBS Support" (SDM vol. 3B, 20.3.6.5.1): RTM, aborted by an instruction, after so many cycles.
  constexpr Bit64u RTM = BX_CONST64(1) << 33, BY_INSTRUCTION = BX_CONST64(1) << 34, CYCLES = 20;
  if (aborted) f.transaction = RTM | BY_INSTRUCTION | CYCLES;
  if (!a) return f;
  const bool timed = c.meaning.kind == Kind::LoadLatency || c.meaning.kind == Kind::StoreSample;
  // Before Haswell an enable bit asks for the fields: of load latency one for each counter, of stores bit 63.
  const bool asked = enable >> (32 + c.number) & 1 || (a->store && m.precise_stores && enable >> 63 & 1);
  if (!m.addresses && !asked) return f;
  f.address = switches.wrong_address ? a->linear ^ WRONG_ADDRESS : a->linear;
  f.source = source_word(*a, c.meaning.kind == Kind::StoreSample && m.two_latencies);
  if (!timed) return f;
  constexpr Bit32u OF_INSTRUCTION = 3; // cycles that it takes beside its access
  f.latency = m.two_latencies ? Bit64u(a->latency) << 32 | (a->latency + OF_INSTRUCTION) : a->latency;
  return f;
}

// Bochs numbers ax cx dx bx sp bp si di r8 to r15; so does the adaptive record.
static void general_registers(BX_CPU_C *cpu, Bit64u *into)
{
  for (unsigned k = 0; k < 16; k++) into[k] = cpu->gen_reg[k].rrx;
  if (switches.wrong_registers) for (unsigned k = 0; k < 16; k++) into[k] ^= 0x1000;
}

static unsigned fixed_layout(Bit64u *w, BX_CPU_C *cpu, int format, const MemoryFields &memory, Bit64u status, Bit64u ip)
{
  // ax bx cx dx si di bp sp
  static const unsigned ORDER[8] = { 0, 3, 1, 2, 6, 7, 5, 4 };
  Bit64u registers[16];
  general_registers(cpu, registers);
  unsigned n = 0;
  w[n++] = cpu->read_eflags();
  w[n++] = cpu->gen_reg[BX_64BIT_REG_RIP].rrx;
  for (unsigned k : ORDER) w[n++] = registers[k];
  for (unsigned k = 8; k < 16; k++) w[n++] = registers[k];
  if (format < 1) return n;
  w[n++] = status, w[n++] = memory.address, w[n++] = memory.source, w[n++] = memory.latency;
  if (format < 2) return n;
  w[n++] = ip, w[n++] = memory.transaction;
  if (format < 3) return n;
  w[n++] = cpu->get_Virtual_TSC();
  return n;
}

static unsigned adaptive_layout(Bit64u *w, BX_CPU_C *cpu, Bit64u config, const MemoryFields &memory, Bit64u status,
  Bit64u ip, const LastBranches &branches)
{
  unsigned n = 1;
  w[n++] = ip, w[n++] = status, w[n++] = cpu->get_Virtual_TSC();
  if (config & MEMORY_GROUP)
    w[n++] = memory.address, w[n++] = memory.source, w[n++] = memory.latency, w[n++] = memory.transaction;
  if (config & REGISTER_GROUP) {
    w[n++] = cpu->read_eflags(), w[n++] = cpu->gen_reg[BX_64BIT_REG_RIP].rrx;
    general_registers(cpu, w + n);
    n += 16;
  }
  if (config & XMM_GROUP)
    for (unsigned k = 0; k < 16; k++) w[n++] = cpu->vmm[k].vmm64u(0), w[n++] = cpu->vmm[k].vmm64u(1);
  if (config & LBR_GROUP) {
    unsigned entries = (config >> 24 & 0x1f) + 1;
    for (unsigned k = 0; k < entries; k++) {
      LastBranches::Entry entry = branches.youngest(k);
      w[n++] = entry.from, w[n++] = entry.to, w[n++] = entry.info;
    }
  }
  w[0] = (config & 0xffffffff) | Bit64u(n * 8) << SIZE_SHIFT;
  return n;
}

unsigned Pebs::lay_out(Bit64u *words, Bit64u status, const Counting &counter, const Access *access, Bit64u ip)
{
  const bool aborted = switches.transactions && made % switches.transactions == switches.transactions - 1;
  MemoryFields memory = memory_fields(machine, counter, access, enable, aborted);
  if (machine.pebs_format < 4) return fixed_layout(words, BX_CPU(cpu), machine.pebs_format, memory, status, ip);
  return adaptive_layout(words, BX_CPU(cpu), data_config, memory, status, ip, branches);
}

}
