// A cache, or a TLB: sets of entries, the most recently used first.
#ifndef PMU_CACHE_H
#define PMU_CACHE_H

#include "machine.h"
#include <algorithm>
#include <cstring>
#include <vector>

namespace pmu {

// MESI. Of an entry of a TLB all but Invalid mean that it is there.
enum class LineState : Bit64u { Invalid, Shared, Exclusive, Modified };

class Cache {
public:
  explicit Cache(Geometry geometry)
    : sets(geometry.sets), ways(geometry.ways), entries(size_t(geometry.sets) * geometry.ways) {}

  // The entry's state; makes it the most recently used.
  LineState use(Bit64u line)
  {
    Bit64u *set = set_of(line);
    if (set[0] >> 2 == line + 1) return LineState(set[0] & 3);
    unsigned way = find(set, line);
    if (way == ways) return LineState::Invalid;
    Bit64u entry = set[way];
    move_back(set, way);
    set[0] = entry;
    return LineState(entry & 3);
  }

  // The entry's state, and nothing else.
  LineState state(Bit64u line)
  {
    Bit64u *set = set_of(line);
    unsigned way = find(set, line);
    return way == ways ? LineState::Invalid : LineState(set[way] & 3);
  }

  // Puts it in as the most recently used; what had to go is left in `evicted` (its line, if it was modified).
  void put(Bit64u line, LineState state, Bit64u *evicted = nullptr, bool *was_modified = nullptr)
  {
    Bit64u *set = set_of(line), last = set[ways - 1];
    if (evicted) *evicted = (last >> 2) - 1, *was_modified = LineState(last & 3) == LineState::Modified;
    move_back(set, ways - 1);
    set[0] = (line + 1) << 2 | Bit64u(state);
  }

  // Changes the state of an entry if it is there.
  void change(Bit64u line, LineState state)
  {
    Bit64u *set = set_of(line);
    unsigned way = find(set, line);
    if (way == ways) return;
    set[way] = state == LineState::Invalid ? 0 : (set[way] & ~Bit64u(3)) | Bit64u(state);
  }

  // As a TLB: whether it was there; it is afterwards.
  bool touch(Bit64u line)
  {
    if (use(line) != LineState::Invalid) return true;
    put(line, LineState::Exclusive);
    return false;
  }

  void clear() { std::fill(entries.begin(), entries.end(), 0); }

private:
  unsigned sets, ways;
  std::vector<Bit64u> entries; // (line + 1) << 2 | state; 0: none

  Bit64u *set_of(Bit64u line) { return &entries[size_t(line & (sets - 1)) * ways]; }
  unsigned find(const Bit64u *set, Bit64u line) const
  {
    unsigned way = 0;
    while (way < ways && set[way] >> 2 != line + 1) way++;
    return way;
  }
  static void move_back(Bit64u *set, unsigned count) { memmove(set + 1, set, count * sizeof *set); }
};

}

#endif
