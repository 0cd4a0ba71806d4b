// The way of an access: TLBs, a CPU's own two caches, the others' (MESI), the shared third level, memory.
#ifndef PMU_MEMORY_H
#define PMU_MEMORY_H

#include "cache.h"
#include "conditions.h"

namespace pmu {

// Where the data was found.
enum class DataSource : Bit8u { Level1, Level2, Level3, OtherClean, OtherModified, Memory };
const char *name_of(DataSource source);

struct Access {
  Bit64u linear, physical;
  Conditions conditions;
  Bit32u length;
  Bit32u latency;       // cycles until the data is there, walk included
  Bit32u walk_latency;  // of these, the TLBs'
  DataSource source;
  bool store, walked;   // walked: the page was in no TLB
};

class MemoryPath {
public:
  explicit MemoryPath(const Machine &machine);

  Access access(Bit64u linear, Bit64u physical, unsigned length, bool store);
  // The second part of an access across pages joins the first.
  static void join(Access &first, const Access &second);
  void use_address_space(Bit64u cr3);
  void forget_page(Bit64u linear);
  void forget_pages();
  static void forget_line(Bit64u line);
  static void forget_lines();

private:
  Cache l1, l2, dtlb, stlb;
  Bit64u space = 0; // which page tables, in the tags of user pages

  struct Found { DataSource source; bool requested; };
  Found load(Bit64u line);
  Found store(Bit64u line);
  DataSource fetch(Bit64u line, bool to_own);
  void fill(Bit64u line, LineState state, bool l2_has_it);
  void own(Bit64u line);
  Bit64u page_tag(Bit64u linear) const;
};

}

#endif
