// What the hooks in Bochs' CPU loop touch, and what they call: the seam between Bochs and the model.
#ifndef PMU_HOT_H
#define PMU_HOT_H

class bxInstruction_c;
struct cpuid_function_t;

namespace pmu {

constexpr unsigned MOST_CPUS = 8;

// The instruction in execution on a CPU; alone in its line of the host's cache.
struct alignas(64) Hot {
  Bit64u ip;         // where it begins
  Bit64u conditions; // what is true of it so far: conditions.h
  Bit32u cpl;        // it runs at
  Bit32u accesses;   // to memory, noted so far
  Bit32u iteration;  // the first access of this iteration of a string instruction
  Bit32u watched;    // something counts, or waits for instructions to pass
};
extern Hot hot[MOST_CPUS];

// Kinds of branch beyond those of Bochs (BX_INSTR_IS_*).
constexpr unsigned CONDITIONAL_TAKEN = 0x100, CONDITIONAL_NOT_TAKEN = 0x101, FAR_BRANCH = 0x200;

void begin();
void end();
void retire(unsigned cpu, bxInstruction_c *instruction);
void access(unsigned cpu, Bit64u linear, Bit64u physical, unsigned length, unsigned memory_type, unsigned rw);
void branch(unsigned cpu, unsigned kind, Bit64u to);
void tlb_control(unsigned cpu, unsigned what, Bit64u value);
void flush_line(unsigned cpu, Bit64u physical);
void flush_caches(unsigned cpu);
void port_written(Bit16u port, Bit32u value);

// Called where bochs.diff says. The first four are true where the model has such a register.
bool read_msr(unsigned cpu, Bit32u index, Bit64u *value);
bool write_msr(unsigned cpu, Bit32u index, Bit64u value);
bool read_counter(unsigned cpu, Bit32u index, Bit64u *value);
bool extended_lvt(unsigned cpu, unsigned apic_register, Bit32u **entry);
void amend_cpuid(Bit32u leaf, Bit32u subleaf, cpuid_function_t *words);

}

#endif
