// What the environment asks of the model; README.md lists the variables.
#ifndef PMU_SWITCHES_H
#define PMU_SWITCHES_H

namespace pmu {

// What BX_PMU_BROKEN=address turns in an address: a line further on may be one that the program has, too.
constexpr unsigned long long WRONG_ADDRESS = 1ull << 40;

struct Switches {
  bool off = false;
  const char *events = nullptr; // the table of events
  const char *log = nullptr;    // the truth log
  bool log_events = false, log_msrs = false;
  unsigned skid = 12;           // the interrupt comes after 1 to this many instructions; 0: after 1
  unsigned arm = 0;             // instructions from a counter's overflow until PEBS is armed
  unsigned shadow = 0;          // instructions after a record in which none is written
  unsigned transactions = 0;    // every so many records is of an aborted transaction; 0: none
  bool debug_store = true;      // the CPU has DS and with it PEBS
  unsigned seed = 1;            // what RDRAND and RDSEED draw from
  unsigned zen = 1;             // generation that an AMD CPU is given out as
  bool wrong_ip = false, wrong_address = false, wrong_registers = false, wrong_source = false, hidden_loss = false;
};
extern Switches switches;

// Reads the environment; ends the program when a variable is unknown or has a wrong value.
void read_switches();
// `NAME=VALUE` of one that may change while the machine runs; ends the program when it is none, or has a wrong value.
void change_switch(const char *text);

}

#endif
