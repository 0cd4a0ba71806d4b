// The hooks that Bochs calls, as this library wants them: instrumentation.txt of Bochs says what each is for.
// Every file of Bochs includes this one, so it holds only what the CPU's loop needs; hooks.cc has the rest.
#if BX_INSTRUMENTATION

#include "hot.h"

#define BX_INSTR_INIT_ENV() pmu::begin()
#define BX_INSTR_EXIT_ENV() pmu::end()
#define BX_INSTR_CNEAR_BRANCH_TAKEN(cpu_id, branch_eip, new_eip) \
  { if (pmu::hot[cpu_id].watched) pmu::branch(cpu_id, pmu::CONDITIONAL_TAKEN, new_eip); }
#define BX_INSTR_CNEAR_BRANCH_NOT_TAKEN(cpu_id, branch_eip) \
  { if (pmu::hot[cpu_id].watched) pmu::branch(cpu_id, pmu::CONDITIONAL_NOT_TAKEN, 0); }
#define BX_INSTR_UCNEAR_BRANCH(cpu_id, what, branch_eip, new_eip) \
  { if (pmu::hot[cpu_id].watched) pmu::branch(cpu_id, what, new_eip); }
#define BX_INSTR_FAR_BRANCH(cpu_id, what, prev_cs, prev_eip, new_cs, new_eip) \
  { if (pmu::hot[cpu_id].watched) pmu::branch(cpu_id, pmu::FAR_BRANCH | (what), new_eip); }
#define BX_INSTR_TLB_CNTRL(cpu_id, what, value) pmu::tlb_control(cpu_id, what, value)
#define BX_INSTR_CLFLUSH(cpu_id, laddr, paddr) pmu::flush_line(cpu_id, paddr)
#define BX_INSTR_CACHE_CNTRL(cpu_id, what) pmu::flush_caches(cpu_id)
#define BX_INSTR_BEFORE_EXECUTION(cpu_id, i) { \
  pmu::Hot &hot_ = pmu::hot[cpu_id]; \
  if (hot_.watched) hot_.ip = RIP, hot_.cpl = CPL, hot_.conditions = 0, hot_.accesses = 0, hot_.iteration = 0; }
#define BX_INSTR_AFTER_EXECUTION(cpu_id, i) { if (pmu::hot[cpu_id].watched) pmu::retire(cpu_id, i); }
#define BX_INSTR_REPEAT_ITERATION(cpu_id, i) pmu::hot[cpu_id].iteration = pmu::hot[cpu_id].accesses
#define BX_INSTR_LIN_ACCESS(cpu_id, lin, phy, len, memtype, rw) { \
  if (pmu::hot[cpu_id].watched) pmu::access(cpu_id, lin, phy, len, memtype, rw); }
#define BX_INSTR_OUTP(addr, len, val) pmu::port_written(addr, val)

#else

#define BX_INSTR_INIT_ENV()
#define BX_INSTR_EXIT_ENV()
#define BX_INSTR_CNEAR_BRANCH_TAKEN(cpu_id, branch_eip, new_eip)
#define BX_INSTR_CNEAR_BRANCH_NOT_TAKEN(cpu_id, branch_eip)
#define BX_INSTR_UCNEAR_BRANCH(cpu_id, what, branch_eip, new_eip)
#define BX_INSTR_FAR_BRANCH(cpu_id, what, prev_cs, prev_eip, new_cs, new_eip)
#define BX_INSTR_TLB_CNTRL(cpu_id, what, value)
#define BX_INSTR_CLFLUSH(cpu_id, laddr, paddr)
#define BX_INSTR_CACHE_CNTRL(cpu_id, what)
#define BX_INSTR_BEFORE_EXECUTION(cpu_id, i)
#define BX_INSTR_AFTER_EXECUTION(cpu_id, i)
#define BX_INSTR_REPEAT_ITERATION(cpu_id, i)
#define BX_INSTR_LIN_ACCESS(cpu_id, lin, phy, len, memtype, rw)
#define BX_INSTR_OUTP(addr, len, val)

#endif

#define BX_INSTR_INITIALIZE(cpu_id)
#define BX_INSTR_EXIT(cpu_id)
#define BX_INSTR_RESET(cpu_id, type)
#define BX_INSTR_HLT(cpu_id)
#define BX_INSTR_MWAIT(cpu_id, addr, len, flags)
#define BX_INSTR_DEBUG_PROMPT()
#define BX_INSTR_DEBUG_CMD(cmd)
#define BX_INSTR_OPCODE(cpu_id, i, opcode, len, is32, is64)
#define BX_INSTR_EXCEPTION(cpu_id, vector, error_code)
#define BX_INSTR_INTERRUPT(cpu_id, vector)
#define BX_INSTR_HWINTERRUPT(cpu_id, vector, cs, eip)
#define BX_INSTR_PREFETCH_HINT(cpu_id, what, seg, offset)
#define BX_INSTR_PHY_ACCESS(cpu_id, phy, len, memtype, rw)
#define BX_INSTR_INP(addr, len)
#define BX_INSTR_INP2(addr, len, val)
#define BX_INSTR_WRMSR(cpu_id, addr, value)
#define BX_INSTR_VMEXIT(cpu_id, reason, qualification)
