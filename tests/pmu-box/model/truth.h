// The truth log: what the model counted, for tests to compare with what the kernel and its users say.
#ifndef PMU_TRUTH_H
#define PMU_TRUTH_H

#include "memory.h"

class BX_CPU_C;

namespace pmu {

// Events of one select that one counter of one CPU counted, since the box was started.
struct Tally { Bit64u user = 0, kernel = 0; };

struct Happening {
  const char *word;        // "sample", "event", "record", "ibs_op", ...
  unsigned cpu, counter;   // fixed counters are 32 and up
  Bit64u select;
  Bit64u nth;              // of the events of that select on that counter
  Bit64u ip;
  unsigned cpl;
  const Access *access;    // null: none
};

class Truth {
public:
  void open(const char *path);
  void close();
  bool is_open() const { return file; }
  Tally *tally(unsigned cpu, unsigned counter, Bit64u select);
  // With the registers, as they are after the instruction.
  void write(const Happening &happening, BX_CPU_C *cpu);
  void line(const char *format, ...) __attribute__((format(printf, 2, 3)));
  // A mark, and all tallies.
  void mark(const char *text);
private:
  FILE *file = nullptr;
  void tallies();
};
extern Truth truth;

}

#endif
