#include "bochs.h"
#include "cpu/cpu.h"
#include "hot.h"
#include "memory.h"

namespace pmu {

// Of every CPU, for the snoops; and what they share. 8 MiB: a slice for each of some cores.
static MemoryPath *paths[MOST_CPUS];
static unsigned path_count = 0;
static Cache l3({ 8192, 16 });

// Cycles from dispatch to use, near enough to any of the modelled cores.
constexpr Bit32u LEVEL1 = 4, LEVEL2 = 14, LEVEL3 = 50, OTHER = 70, MEMORY = 204, ACROSS_LINES = 5, STLB_HIT = 7, WALK = 30;

const char *name_of(DataSource source)
{
  static const char *const NAMES[] = { "l1", "l2", "l3", "snoop", "hitm", "memory" };
  return NAMES[unsigned(source)];
}

static Bit32u latency_of(DataSource source)
{
  static const Bit32u CYCLES[] = { LEVEL1, LEVEL2, LEVEL3, OTHER, OTHER, MEMORY };
  return CYCLES[unsigned(source)];
}

MemoryPath::MemoryPath(const Machine &m) : l1(m.l1), l2(m.l2), dtlb(m.dtlb), stlb(m.stlb)
{
  paths[path_count++] = this;
}

// The kernel's half is in every address space; user pages are told apart, as PCIDs do.
Bit64u MemoryPath::page_tag(Bit64u linear) const
{
  return linear >> 63 ? (linear & BX_CONST64(0xffffffffffff)) >> 12 : linear >> 12 | space << 36;
}

void MemoryPath::use_address_space(Bit64u cr3)
{
  Bit64u next = cr3 >> 12 & 0xfffff;
  // The same page tables again: that is how Linux flushes them (__flush_tlb_local). Others have tags of their own.
  if (next == space) forget_pages();
  space = next;
}

void MemoryPath::forget_page(Bit64u linear)
{
  dtlb.change(page_tag(linear), LineState::Invalid);
  stlb.change(page_tag(linear), LineState::Invalid);
}

void MemoryPath::forget_pages() { dtlb.clear(), stlb.clear(); }

void MemoryPath::forget_line(Bit64u line)
{
  for (unsigned k = 0; k < path_count; k++)
    paths[k]->l1.change(line, LineState::Invalid), paths[k]->l2.change(line, LineState::Invalid);
  l3.change(line, LineState::Invalid);
}

void MemoryPath::forget_lines()
{
  for (unsigned k = 0; k < path_count; k++) paths[k]->l1.clear(), paths[k]->l2.clear();
  l3.clear();
}

void MemoryPath::fill(Bit64u line, LineState state, bool l2_has_it)
{
  Bit64u evicted;
  bool modified;
  if (!l2_has_it) l2.put(line, state, &evicted, &modified);
  l1.put(line, state, &evicted, &modified);
  if (!modified) return;
  // Written back to the second level, so that a snoop still finds it.
  if (l2.state(evicted) != LineState::Invalid) l2.change(evicted, LineState::Modified);
  else l2.put(evicted, LineState::Modified);
}

// A line that neither of the CPU's caches has.
DataSource MemoryPath::fetch(Bit64u line, bool to_own)
{
  LineState others = LineState::Invalid;
  for (unsigned k = 0; k < path_count; k++) {
    MemoryPath *other = paths[k];
    if (other == this) continue;
    LineState have = std::max(other->l1.state(line), other->l2.state(line));
    if (have == LineState::Invalid) continue;
    others = std::max(others, have);
    LineState left = to_own ? LineState::Invalid : LineState::Shared;
    other->l1.change(line, left), other->l2.change(line, left);
  }
  bool in_l3 = l3.touch(line);
  LineState state = to_own ? LineState::Modified : others == LineState::Invalid ? LineState::Exclusive : LineState::Shared;
  fill(line, state, false);
  if (others == LineState::Modified) return DataSource::OtherModified;
  if (others != LineState::Invalid) return DataSource::OtherClean;
  return in_l3 ? DataSource::Level3 : DataSource::Memory;
}

MemoryPath::Found MemoryPath::load(Bit64u line)
{
  if (l1.use(line) != LineState::Invalid) return { DataSource::Level1, false };
  LineState state = l2.use(line);
  if (state == LineState::Invalid) return { fetch(line, false), true };
  fill(line, state, true);
  return { DataSource::Level2, true };
}

// Makes the line of this CPU's caches its own.
void MemoryPath::own(Bit64u line)
{
  for (unsigned k = 0; k < path_count; k++) if (paths[k] != this)
    paths[k]->l1.change(line, LineState::Invalid), paths[k]->l2.change(line, LineState::Invalid);
  l1.change(line, LineState::Modified), l2.change(line, LineState::Modified);
}

MemoryPath::Found MemoryPath::store(Bit64u line)
{
  LineState state = l1.use(line);
  if (state == LineState::Modified) return { DataSource::Level1, false };
  if (state != LineState::Invalid) {
    own(line);
    return { DataSource::Level1, state == LineState::Shared };
  }
  state = l2.use(line);
  if (state == LineState::Invalid) return { fetch(line, true), true };
  fill(line, state, true);
  if (state != LineState::Modified) own(line);
  return { DataSource::Level2, true };
}

static Conditions conditions_of_load(DataSource source, bool within_a_line)
{
  Conditions hit = 0, miss = 0;
  switch (source) {
  case DataSource::Level1: hit = L1_HIT; break;
  case DataSource::Level2: miss = L1_MISS | READ_FOUND, hit = L2_HIT; break;
  case DataSource::Level3: miss = L1_MISS | L2_MISS | READ_NOT_FOUND, hit = L3_HIT; break;
  case DataSource::OtherClean: miss = L1_MISS | L2_MISS | READ_NOT_FOUND | CLEAN_SNOOP, hit = L3_HIT; break;
  case DataSource::OtherModified: miss = L1_MISS | L2_MISS | READ_NOT_FOUND | HITM, hit = L3_HIT; break;
  case DataSource::Memory: miss = L1_MISS | L2_MISS | L3_MISS | READ_NOT_FOUND; break;
  }
  return miss | (within_a_line ? hit : 0);
}

static Conditions conditions_of_store(DataSource source, bool requested)
{
  if (!requested) return 0;
  Conditions missed = source == DataSource::Level1 ? 0 : L1_STORE_MISS;
  return missed | (source <= DataSource::Level2 ? OWN_FOUND : OWN_NOT_FOUND);
}

Access MemoryPath::access(Bit64u linear, Bit64u physical, unsigned length, bool store)
{
  Access a = { linear, physical, Conditions(store ? STORE : LOAD), length, 0, 0, DataSource::Level1, store, false };
  Bit64u page = page_tag(linear);
  if (!dtlb.touch(page)) {
    a.walked = !stlb.touch(page);
    a.walk_latency = a.walked ? WALK : STLB_HIT;
    if (a.walked) a.conditions |= store ? STLB_MISS_STORE : STLB_MISS_LOAD;
  }
  Bit64u first = physical >> 6, last = (physical + length - 1) >> 6;
  bool within = first == last;
  for (Bit64u line = first; line <= last; line++) {
    Found found = store ? this->store(line) : load(line);
    a.conditions |= store ? conditions_of_store(found.source, found.requested) : conditions_of_load(found.source, within);
    a.latency += latency_of(found.source) - LEVEL1;
    a.source = std::max(a.source, found.source);
  }
  a.latency += LEVEL1 + a.walk_latency;
  if (!within) {
    a.conditions |= store ? SPLIT_STORE : SPLIT_LOAD;
    a.latency += ACROSS_LINES;
  }
  return a;
}

void MemoryPath::join(Access &first, const Access &second)
{
  Conditions hits = L1_HIT | L2_HIT | L3_HIT;
  first.conditions = ((first.conditions | second.conditions) & ~hits) | (first.store ? SPLIT_STORE : SPLIT_LOAD);
  first.length += second.length;
  first.latency += second.latency - LEVEL1 + ACROSS_LINES;
  first.walk_latency += second.walk_latency;
  first.source = std::max(first.source, second.source);
  first.walked |= second.walked;
}

}
