#include "bochs.h"
#include "events.h"
#include <fstream>
#include <sstream>
#include <unordered_map>
#include <stdlib.h>

namespace pmu {

// By `config` of perf_event_attr. Lines of one config and several config1 (thresholds, offcore requests) mean the
// same where the model knows them at all: the first is kept.
static std::unordered_map<Bit64u, Meaning> table;

struct KindWord { const char *word; Kind kind; };
struct ConditionWord { const char *word; Conditions condition; };

static const KindWord KINDS[] = {
  { "instructions", Kind::Instructions }, { "cycles", Kind::Cycles }, { "slots", Kind::Slots },
  { "load_latency", Kind::LoadLatency }, { "store_sample", Kind::StoreSample },
};

static const ConditionWord CONDITIONS[] = {
  { "load", LOAD }, { "store", STORE }, { "locked", LOCKED },
  { "l1_hit", L1_HIT }, { "l2_hit", L2_HIT }, { "l3_hit", L3_HIT },
  { "l1_miss", L1_MISS }, { "l2_miss", L2_MISS }, { "l3_miss", L3_MISS },
  { "hitm", HITM }, { "clean_snoop", CLEAN_SNOOP }, { "never", NEVER },
  { "stlb_miss_load", STLB_MISS_LOAD }, { "stlb_miss_store", STLB_MISS_STORE },
  { "split_load", SPLIT_LOAD }, { "split_store", SPLIT_STORE }, { "blocked_load", BLOCKED_LOAD },
  { "l1_store_miss", L1_STORE_MISS },
  { "read_found", READ_FOUND }, { "read_not_found", READ_NOT_FOUND },
  { "own_found", OWN_FOUND }, { "own_not_found", OWN_NOT_FOUND },
  { "branch", BRANCH }, { "conditional", CONDITIONAL }, { "conditional_taken", CONDITIONAL_TAKEN_ },
  { "taken", TAKEN }, { "call", CALL }, { "return", RETURN }, { "far", FAR_ }, { "indirect", INDIRECT },
  { "mispredicted", MISPREDICTED }, { "mispredicted_conditional", MISPREDICTED_CONDITIONAL },
  { "mispredicted_taken", MISPREDICTED_TAKEN },
};

static bool parse_word(const std::string &word, Meaning &into)
{
  for (const KindWord &known : KINDS) if (word == known.word) return into.kind = known.kind, true;
  for (const ConditionWord &known : CONDITIONS)
    if (word == known.word) return into.kind = Kind::Retirement, into.conditions |= known.condition, true;
  return false;
}

[[noreturn]] static void refuse(const char *path, unsigned number, const std::string &line, const char *why)
{
  fprintf(stderr, "PMU: %s:%u: \"%s\": %s; the table is what the example model-events prints\n", path, number,
    line.c_str(), why);
  exit(2);
}

void read_events(const char *path)
{
  std::ifstream file(path);
  if (!file) refuse(path, 0, "", "cannot be read");
  std::string line;
  for (unsigned number = 1; std::getline(file, line); number++) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream columns(line);
    std::string config, config1, words, word;
    if (!(columns >> config >> config1 >> words)) refuse(path, number, line, "config, config1 and a meaning are wanted");
    Meaning meaning;
    for (std::istringstream parts(words); std::getline(parts, word, '|'); )
      if (!parse_word(word, meaning)) refuse(path, number, line, "the model has no such condition");
    table.emplace(strtoull(config.c_str(), nullptr, 16), meaning);
  }
  if (table.empty()) refuse(path, 0, "", "no event in it");
}

static bool find(Bit64u config, Meaning &into)
{
  auto found = table.find(config);
  if (found != table.end()) into = found->second;
  return found != table.end();
}

// SDM vol. 3B, 20.2.1.1; of AMD's the same bits, with event bits 35:32 (APM vol. 2, 13.2.1).
Meaning meaning_of(Bit64u select, Maker maker)
{
  const Bit64u code = maker == Maker::Amd ? BX_CONST64(0xf0000ffff) : 0xffff;
  const Bit64u edge = 1 << 18, invert = 1 << 23, threshold = 0xff000000;
  Meaning meaning;
  // Cycles in which fewer than so many retired: with one instruction a cycle, all. The kernel's precise cycles are
  // that (intel_pebs_aliases_snb() and kin).
  if (select & invert && (select & threshold) > 1 << 24 && find(select & code, meaning)) return { Kind::Cycles, 0 };
  if (!find(select & (code | edge | invert | threshold), meaning)) find(select & code, meaning);
  return meaning;
}

}
