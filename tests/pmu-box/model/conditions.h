// What can be true of an instruction that retires: events are made of these.
#ifndef PMU_CONDITIONS_H
#define PMU_CONDITIONS_H

namespace pmu {

typedef Bit64u Conditions; // a set

enum Condition : Bit64u {
  LOAD = 1 << 0, STORE = 1 << 1, LOCKED = 1 << 2,
  L1_HIT = 1 << 3, L2_HIT = 1 << 4, L3_HIT = 1 << 5,    // loads within one line: where the data was
  L1_MISS = 1 << 6, L2_MISS = 1 << 7, L3_MISS = 1 << 8, // loads: where it was not
  HITM = 1 << 9,                                        // loads: another CPU's cache had the line modified
  CLEAN_SNOOP = 1 << 10,                                // loads: another CPU's cache had it unmodified
  STLB_MISS_LOAD = 1 << 11, STLB_MISS_STORE = 1 << 12,  // the page was in no TLB: a walk
  SPLIT_LOAD = 1 << 13, SPLIT_STORE = 1 << 14,          // across two lines
  BLOCKED_LOAD = 1 << 15,                               // by a store that could not forward to it
  READ_FOUND = 1 << 16, READ_NOT_FOUND = 1 << 17,       // requests of loads to the second level
  OWN_FOUND = 1 << 18, OWN_NOT_FOUND = 1 << 19,         // requests of stores: for ownership
  BRANCH = 1 << 20, CONDITIONAL = 1 << 21, CONDITIONAL_TAKEN_ = 1 << 22, TAKEN = 1 << 23, CALL = 1 << 24,
  RETURN = 1 << 25, FAR_ = 1 << 26, INDIRECT = 1 << 27,
  MISPREDICTED = 1 << 28, MISPREDICTED_CONDITIONAL = 1 << 29, MISPREDICTED_TAKEN = 1 << 30,
  L1_STORE_MISS = BX_CONST64(1) << 31,
  NEVER = BX_CONST64(1) << 32                           // what the model has not: another socket, fills under way
};

}

#endif
