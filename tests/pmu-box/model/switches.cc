#include "bochs.h"
#include "switches.h"
#include <stdlib.h>
#include <string.h>

extern char **environ;

namespace pmu {

Switches switches;

[[noreturn]] static void refuse(const char *name, const char *value, const char *wanted)
{
  fprintf(stderr, "PMU: %s=\"%s\": %s; tests/pmu-box/model/README.md lists the variables\n", name, value, wanted);
  exit(2);
}

static void number(const char *name, const char *value, unsigned most, unsigned &into)
{
  char *rest;
  unsigned long read = strtoul(value, &rest, 0);
  if (!*value || *rest || read > most) refuse(name, value, "a number is wanted, not too big");
  into = read;
}

static bool on(const char *name, const char *value)
{
  if (strcmp(value, "on") && strcmp(value, "off")) refuse(name, value, "on or off is wanted");
  return !strcmp(value, "on");
}

struct Word { const char *word; bool *flag; };

// A list with commas: sets the flag of each word.
static void words(const char *name, const char *value, const Word *all, unsigned count)
{
  for (const char *at = value; *at; ) {
    size_t length = strcspn(at, ",");
    unsigned found = 0;
    while (found < count && (strncmp(all[found].word, at, length) || all[found].word[length])) found++;
    if (found == count) refuse(name, value, "no such word");
    *all[found].flag = true;
    at += length + (at[length] == ',');
  }
}

// One of what the CPU does, which may change while it runs; false: it is none of these.
static bool read_behaviour(const char *name, const char *value)
{
  Switches &s = switches;
  const Word wrong[] = { { "ip", &s.wrong_ip }, { "address", &s.wrong_address }, { "registers", &s.wrong_registers },
    { "source", &s.wrong_source }, { "loss", &s.hidden_loss } };
  if (!strcmp(name, "BX_PMU_SKID")) number(name, value, 1 << 15, s.skid);
  else if (!strcmp(name, "BX_PMU_ARM")) number(name, value, 1 << 20, s.arm);
  else if (!strcmp(name, "BX_PMU_SHADOW")) number(name, value, 1 << 20, s.shadow);
  else if (!strcmp(name, "BX_PMU_ABORTS")) number(name, value, 1 << 20, s.transactions);
  else if (!strcmp(name, "BX_PMU_BROKEN")) {
    for (const Word &word : wrong) *word.flag = false;
    words(name, value, wrong, 5);
  }
  else return false;
  return true;
}

// One of what the CPU is, or of the log.
static void read_switch(const char *name, const char *value)
{
  Switches &s = switches;
  const Word what[] = { { "events", &s.log_events }, { "msrs", &s.log_msrs } };
  if (read_behaviour(name, value)) return;
  if (!strcmp(name, "BX_PMU")) s.off = !on(name, value);
  else if (!strcmp(name, "BX_PMU_EVENTS")) s.events = value;
  else if (!strcmp(name, "BX_PMU_LOG")) s.log = value;
  else if (!strcmp(name, "BX_PMU_LOG_ALSO")) words(name, value, what, 2);
  else if (!strcmp(name, "BX_PMU_DS")) s.debug_store = on(name, value);
  else if (!strcmp(name, "BX_PMU_SEED")) number(name, value, 1 << 30, s.seed);
  else if (!strcmp(name, "BX_PMU_ZEN")) number(name, value, 5, s.zen);
  else refuse(name, value, "no such variable");
}

static const char *split(const char *text, char (&name)[64])
{
  const char *equals = strchr(text, '=');
  if (!equals) refuse(text, "", "NAME=VALUE is wanted");
  snprintf(name, sizeof name, "%.*s", (int)(equals - text), text);
  return equals + 1;
}

void change_switch(const char *text)
{
  char name[64];
  const char *value = split(text, name);
  if (!read_behaviour(name, value)) refuse(name, value, "it cannot change while the machine runs");
}

void read_switches()
{
  for (char **entry = environ; *entry; entry++) {
    if (strncmp(*entry, "BX_PMU", 6)) continue;
    char name[64];
    const char *value = split(*entry, name);
    read_switch(name, value);
  }
  if (!switches.off && !switches.events)
    refuse("BX_PMU_EVENTS", "", "the file with the CPU's events is wanted");
}

}
