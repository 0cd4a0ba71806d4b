// Interrupts of the PMU, some instructions after their cause.
#ifndef PMU_INTERRUPTS_H
#define PMU_INTERRUPTS_H

namespace pmu {

class Interrupts {
public:
  // EILVT entries of AMD's APIC begin masked (APM vol. 2, 16.3.3).
  explicit Interrupts(unsigned cpu, bool amd) : cpu(cpu), masks_itself(!amd) {}

  // One through the local APIC's performance counter entry: SDM vol. 3A, 11.5.1; Linux takes it as an NMI.
  void raise();
  // One of IBS through its extended entry.
  void raise_ibs(unsigned entry);
  // An instruction retired.
  void pass() { if (counters_in && !--counters_in) deliver(); if (ibs_in && !--ibs_in) deliver_ibs(); }
  bool is_under_way() const { return counters_in || ibs_in; }

  Bit32u extended[4] = { MASKED, MASKED, MASKED, MASKED };
  Bit64u delivered = 0;

private:
  static constexpr Bit32u MASKED = 0x10000;
  unsigned cpu;
  bool masks_itself;
  unsigned counters_in = 0, ibs_in = 0; // instructions to go; 0: none is under way
  unsigned counters_skid = 0, ibs_skid = 0; // that were drawn last
  unsigned ibs_entry = 0;
  void log(unsigned skid) const;
  void deliver();
  void deliver_ibs();
};

// 0 to below `limit`, the same in every run.
unsigned random_below(unsigned limit);

}

#endif
