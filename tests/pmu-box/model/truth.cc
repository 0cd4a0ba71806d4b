#define NEED_CPU_REG_SHORTCUTS 1
#include "bochs.h"
#include "cpu/cpu.h"
#include "truth.h"
#include <map>
#include <stdarg.h>
#include <stdlib.h>
#include <tuple>

namespace pmu {

Truth truth;

// By CPU, counter and select.
static std::map<std::tuple<unsigned, unsigned, Bit64u>, Tally> counted;

typedef unsigned long long Word; // what printf wants

void Truth::open(const char *path)
{
  file = fopen(path, "w");
  if (!file) {
    fprintf(stderr, "PMU: BX_PMU_LOG=\"%s\": cannot be written\n", path);
    exit(2);
  }
  setvbuf(file, nullptr, _IOFBF, 1 << 20);
}

void Truth::close()
{
  if (!file) return;
  tallies();
  fclose(file);
  file = nullptr;
}

Tally *Truth::tally(unsigned cpu, unsigned counter, Bit64u select) { return &counted[std::make_tuple(cpu, counter, select)]; }

void Truth::tallies()
{
  for (const auto &entry : counted)
    fprintf(file, "total cpu=%u counter=%u select=%llx user=%llu kernel=%llu\n", std::get<0>(entry.first),
      std::get<1>(entry.first), Word(std::get<2>(entry.first)), Word(entry.second.user), Word(entry.second.kernel));
}

void Truth::line(const char *format, ...)
{
  if (!file) return;
  va_list arguments;
  va_start(arguments, format);
  vfprintf(file, format, arguments);
  va_end(arguments);
}

void Truth::write(const Happening &h, BX_CPU_C *cpu)
{
  static const char *const NAMES[] = { "ax", "cx", "dx", "bx", "sp", "bp", "si", "di", "r8", "r9", "r10", "r11", "r12",
    "r13", "r14", "r15" };
  if (!file) return;
  fprintf(file, "%s cpu=%u counter=%u select=%llx nth=%llu tsc=%llu ip=%llx cpl=%u", h.word, h.cpu, h.counter,
    Word(h.select), Word(h.nth), Word(cpu->get_Virtual_TSC()), Word(h.ip), h.cpl);
  if (h.access)
    fprintf(file, " address=%llx physical=%llx op=%s source=%s latency=%u walk=%u", Word(h.access->linear),
      Word(h.access->physical), h.access->store ? "store" : "load", name_of(h.access->source), h.access->latency,
      unsigned(h.access->walked));
  fprintf(file, " next=%llx flags=%x", Word(cpu->gen_reg[BX_64BIT_REG_RIP].rrx), cpu->read_eflags());
  for (unsigned k = 0; k < 16; k++) fprintf(file, " %s=%llx", NAMES[k], Word(cpu->gen_reg[k].rrx));
  fputc('\n', file);
}

void Truth::mark(const char *text)
{
  if (!file) return;
  fprintf(file, "mark %s\n", text);
  tallies();
  // A test may read it while the box runs.
  fflush(file);
}

}
