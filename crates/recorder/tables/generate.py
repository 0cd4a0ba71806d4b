#!/usr/bin/env python3
"""Makes types.tsv, extra.tsv, names.tsv and cpus.tsv from lists of CPU events.

usage: generate.py TYPES.csv CPUIDS.csv INTEL.tsv AMD.tsv KERNEL.csv.gz

TYPES   one row per type of hardmeter, core and way to count or sample it;
        columns as in fixtures/hardmeter_types.csv.gz
CPUIDS  CPUID pattern, core, PMU: the mapfile of intel/perfmon, and AMD
INTEL   named events of Intel's cores: intel/perfmon
AMD     named events of AMD's cores
KERNEL  name and config of the kernel's event tables, as its jevents makes
        them of the same lists: the AnyThread bit, the fixed counters'
        portable codes and the offcore events are taken from there

NOTICE says from which versions the checked-in tables were made. Output is
sorted and the same for the same input; standard library only.
"""

import collections
import csv
import gzip
import io
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
DEFAULT_INTERVAL = 100_003
IBS_INTERVAL = 100_000

CLASSES = {
    "packed_sp_retired": "packed_sp",
    "packed_dp_retired": "packed_dp",
    "scaler_sp_retired": "scalar_sp",
    "scaler_dp_retired": "scalar_dp",
    "64bit_mmx_retired": "mmx64",
    "128bit_mmx_retired": "mmx128",
    "x87_fp_retired": "x87",
    "x87_simd_memory_moves_retired": "x87_simd_moves",
    "memory_loads": "reads_memory",
    "memory_stores": "writes_memory",
    "memory_moves": "accesses_memory",
    "split_load_retired": "split_load",
}

IBS_BITS = {
    "LdOp": "ld_op",
    "StOp": "st_op",
    "DcMiss": "dc_miss",
    "L2Miss": "l2_miss",
    "DcL1TlbMiss": "dc_l1_tlb_miss",
    "DcL2TlbMiss": "dc_l2_tlb_miss",
    "DcMisAcc": "dc_mis_acc",
    "DcLinAddrValid": "lin_addr_valid",
}

# What is worth saying of an encoding, by what the table's notes say.
NOTES = [
    (r"umask composed by OR", "masks that the maker lists one by one, opened as one event"),
    (r"fused-domain", "counts retirement slots, in which fused micro-operations are one"),
    (r"(^|; )unfused uops", "counts unfused micro-operations"),
    (r"store-forwarding failure only", "loads blocked because a store could not forward"),
    (r"any load block", "loads blocked for any reason"),
    (r"loads blocked by an overlapping store", "loads blocked by an overlapping store, also speculative ones"),
    (r"memory-order machine clears", "machine clears for memory order"),
    (r"4K aliasing", "loads blocked by a store that looked like theirs (4 KiB aliasing)"),
    (r"STLI", "loads that matched a store which could not forward, counted at dispatch"),
    (r"TRAP: kernel accepts precise_ip", "the kernel accepts a precise level for it, the CPU has none"),
    (r"extended PEBS", "the kernel accepts a precise level for it, which does not make IP exact"),
    (r"LLC-miss event|no L2-miss umask \(composed", "sources beyond the level, and misses of the last level by a second event"),
    (r"load-latency facility", "loads that took at least 4 cycles: the only precise loads of this core"),
    (r"no per-instruction mode", "samples micro-operations: an instruction of several is sampled more often"),
    (r"counts dispatched ops", "counted at dispatch, sampled when retired"),
    (r"DcMisAcc = misaligned", "misaligned for the data cache: across 64 bytes, on Zen 1 and 2 across 32"),
    (r"also counts software prefetches", "counts software prefetches too"),
    (r"includes software prefetch", "counts software prefetches too"),
    (r"data_src may be N/A", "the kernel may not say where the data came from"),
    (r"second-level TLB|page walk", "missed both levels of the TLB: a page walk"),
    (r"no 256-bit SP bit", "256-bit operations are not in it"),
    (r"kernel generic event", "the kernel's generic event: its meaning varies from CPU to CPU"),
]


def number(text):
    return int(text, 0) if text else 0


def short(value):
    return f"{value:x}" if value else ""


def write(name, head, lines):
    path = os.path.join(HERE, name)
    with open(path, "w", encoding="ascii", newline="\n") as out:
        out.write(f"# {head}; made by generate.py, see NOTICE\n")
        out.writelines(line + "\n" for line in lines)


def cores_text(cores):
    return ",".join(sorted(cores))


# --- names -----------------------------------------------------------------

KERNEL_CORES = {
    "nehalemep": "nehalem",
    "westmereep-sp": "westmere_sp",
    "westmereep-dp": "westmere",
    "alderlaken": "alderlake_gracemont",
    ("alderlake", "cpu_core"): "alderlake_goldencove",
    ("alderlake", "cpu_atom"): "alderlake_gracemont",
    ("meteorlake", "cpu_core"): "meteorlake_redwoodcove",
    ("meteorlake", "cpu_atom"): "meteorlake_crestmont",
    ("lunarlake", "cpu_core"): "lunarlake_lioncove",
    ("lunarlake", "cpu_atom"): "lunarlake_skymont",
}

NEHALEM = {"nehalem", "nehalemex"}
WESTMERE = {"westmere", "westmere_sp", "westmereex"}

# Codes that stand for fixed counters in Intel's lists and mean nothing to a
# kernel as they are: what jevents writes for them, by name.
FIXED = {
    "inst_retired.any": 0xC0,
    "cpu_clk_unhalted.thread": 0x3C,
    "cpu_clk_unhalted.core": 0x3C,
    "cpu_clk_unhalted.ref": 0x300,
    "cpu_clk_unhalted.thread_any": 0x20003C,
}


def kernel_takes_precise(core, config):
    """Nehalem's and Westmere's list of events that may be precise."""
    event, code = config & 0xFF, config & 0xFFFF
    if core in NEHALEM | WESTMERE:
        return (
            event in (0x0F, 0xC0, 0xC2, 0xC4, 0xC7, 0xCB, 0xF7)
            or code in (0x100B, 0x010C, 0x20C8)
            or (code == 0x02C5 if core in NEHALEM else event == 0xC5)
        )
    return True


def on_any_kernel(config, name):
    """Fixed counter 0 by its own code (00/01) goes into no counter with
    precise_ip 3 from Golden Cove on: glc_get_event_constraints() knows it by
    c0/00 alone, which icl_get_event_constraints() sends there too. Names
    keep the code that they have in other tools."""
    return 0xC0 if config == 0x100 and name == "INST_RETIRED.PREC_DIST" else config


def precise_level(core, config, pebs, pdist, name):
    if not pebs or not kernel_takes_precise(core, config):
        return 0
    if pdist not in ("", "NA"):
        return 3
    if name == "inst_retired.prec_dist" and core not in ("sandybridge", "jaketown"):
        return 3
    return 2


def kernel_names(path):
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            model, pmu = row["model"], row["pmu"]
            core = KERNEL_CORES.get((model, pmu)) or KERNEL_CORES.get(model) or model
            if core.startswith("amd"):
                core = core[3:]
            yield core, row


def intel_names(path, kernel):
    """(core, name) -> (config, config1, precise, address, deprecated, interval)"""
    with open(path, encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    names = {}
    for row in rows:
        core, name = row["uarch"], row["name"]
        config = (
            number(row["event"])
            | number(row["umask"]) << 8
            | number(row["edge"]) << 18
            | number(row["inv"]) << 23
            | number(row["cmask"]) << 24
            | number(row["umask_ext"]) << 40
        )
        config1 = number(row["msr_value"]) if number(row["msr_index"]) else 0
        pebs = row["pebs"] != "0"
        config = FIXED.get(name, config)
        if core in NEHALEM | WESTMERE and name == "inst_retired.any_p":
            config = 0xC0
        if kernel.get((core, name), config) ^ config == 1 << 21:
            config |= 1 << 21
        precise = precise_level(core, config, pebs, row["pdist_counter"], name)
        address = row["data_la"] == "1" or config & 0xFFFF == 0x100B or (
            config & 0xFFFF in (0x1CD, 0x2CD) and precise > 0
        )
        names[core, name] = (
            config, config1, precise, address and precise > 0,
            row["deprecated"] == "1", int(row["sample_after_value"] or DEFAULT_INTERVAL),
        )
    return names


def amd_names(path):
    with open(path, encoding="utf-8") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            if row["pmu"] == "cpu":
                event = number(row["event"])
                config = event & 0xFF | number(row["umask"]) << 8 | (event >> 8) << 32
                yield row["uarch"], row["name"], config


def make_names(intel, amd, kernel):
    known = {(core, row["name"]): number(row["config_x86"])
             for core, row in kernel_names(kernel) if row["config_x86"]}
    names = intel_names(intel, known)
    for core, name, config in amd_names(amd):
        names[core, name] = (config, 0, 0, False, False, 200_003)
    cores = {core for core, _ in names}
    for core, row in kernel_names(kernel):
        key = core, row["name"]
        if key in names or core not in cores:
            continue
        period = re.search(r"period=(\d+)", row["perf_terms"])
        config, config1 = number(row["config_x86"]), number(row["config1"])
        precise = 2 if "load_latency_gt_" in row["name"] else 0
        names[key] = (config, config1, precise, precise > 0, row["deprecated"] == "1",
                      int(period.group(1)) if period else DEFAULT_INTERVAL)
    tuples = collections.defaultdict(set)
    for (core, name), value in names.items():
        tuples[(name, *value)].add(core)
    sets = sorted({cores_text(cores) for cores in tuples.values()})
    index = {text: f"{place:x}" for place, text in enumerate(sets)}
    lines = [f"={index[text]}\t{text}" for text in sets]
    for (name, config, config1, precise, address, old, interval), cores in sorted(tuples.items()):
        flags = (str(precise) if precise else "") + "a" * address + "d" * old
        lines.append("\t".join(
            [name, short(config), short(config1), flags, str(interval), index[cores_text(cores)]]))
    write("names.tsv", "=SET cores; then name, config, config1, flags (precise level, a: data "
          "address, d: deprecated), interval, SET", lines)
    return names


# --- types -----------------------------------------------------------------

def filter_of(row):
    other, text = row["other"], []
    found = re.search(r"filter\[(.*)\]", other)
    condition = found.group(1) if found else ""
    decode = other == "decode" or "decode" in condition
    for part in re.split(r" & | and ", condition):
        part = part.strip("()").replace("=1", "")
        if part and part != "decode":
            text.append("ibs:" + "|".join(IBS_BITS[bit] for bit in part.split("|")))
    if decode:
        text.append("class:" + CLASSES[row["type"]])
    return "+".join(text)


def note_of(row):
    said = [text for pattern, text in NOTES if re.search(pattern, row["notes"])]
    if row["equivalence"] == "emulated":
        said = [text for text in said if text.startswith("samples micro")]
    return "; ".join(dict.fromkeys(said))


# Types for which the kernel has no one generic event.
GENERIC_PAIRS = {
    "dtlb_all_miss": [("dTLB-load-misses", "0x10003"), ("dTLB-store-misses", "0x10103")],
}
KINDS = {"PERF_TYPE_HARDWARE": "hardware", "PERF_TYPE_HW_CACHE": "hw_cache"}


def make_types(path):
    with open(path, encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    order = list(dict.fromkeys(row["type"] for row in rows))
    best = collections.defaultdict(list)
    for row in rows:
        if row["uarch"] != "arm_spe" and "sample" in row["recommended_for"].split():
            best[row["type"], row["uarch"]].append(row)
    groups = collections.defaultdict(set)
    for (kind, core), candidates in best.items():
        rank = min(int(row["rank"]) for row in candidates)
        members = [row for row in candidates if int(row["rank"]) == rank]
        if len(members) > 1 and not all("member" in row["notes"] for row in members):
            sys.exit(f"{kind} on {core}: alternatives of one rank")
        if " + " in members[0]["perfmon_event_name"]:
            members = [dict(members[0], perfmon_event_name=name, raw_config=code)
                       for name, code in GENERIC_PAIRS[kind]]
        for place, row in enumerate(members):
            ibs = row["pmu"] == "ibs_op"
            config = on_any_kernel(number(row["raw_config"]), row["perfmon_event_name"])
            address = row["data_la"] == "1" or config == 0x100B
            precise = number(row["precise_ip_max_useful"])
            address = address and (precise > 0 or ibs)
            filter_text = filter_of(row)
            latency = "u" if config == 0x100B else ""
            if ibs and "ibs:ld_op" in filter_text:
                latency = "m"
            interval = row["sample_after_value"] or str(IBS_INTERVAL if ibs else DEFAULT_INTERVAL)
            counters = row["counters"] if row["counters"] != "0,1,2,3,4,5,6,7" else ""
            groups[(
                order.index(kind), kind, place,
                KINDS.get(row["pmu"], "ibs_op" if ibs else "core"),
                short(config), short(number(row["raw_config1"])), str(precise),
                row["equivalence"].split("-")[0], "a" * address + latency, filter_text, interval,
                counters, row["pdist_counters"].replace("NA", ""), row["errata"],
                row["perfmon_event_name"].split(" (")[0], note_of(row),
            )].add(core)
    ordered = sorted(groups.items(), key=lambda item: (*item[0][:3], sorted(item[1])))
    write("types.tsv", TYPE_HEAD,
          ["\t".join([key[1], cores_text(cores), *key[3:]]) for key, cores in ordered])


TYPE_HEAD = ("type, cores, PMU, config, config1, precise level, equivalence, flags (a: data "
             "address; weight u: use latency, s: store latency, m: data cache miss), filter, "
             "interval, counters, counters of precise distribution, errata, event, note")

# --- types that the original did not have ------------------------------------

BIG = "sandybridge jaketown ivybridge ivytown haswell haswellx broadwell broadwellx broadwellde " \
      "skylake skylakex cascadelakex icelake icelakex tigerlake rocketlake sapphirerapids " \
      "emeraldrapids graniterapids alderlake_goldencove meteorlake_redwoodcove " \
      "arrowlake_lioncove lunarlake_lioncove pantherlake_cougarcove novalake_coyotecove".split()
SERVERS = {"nehalem", "nehalemex", "westmere", "westmere_sp", "westmereex", "jaketown", "ivytown",
           "haswellx", "broadwellx", "broadwellde", "skylakex", "cascadelakex", "icelakex",
           "sapphirerapids", "emeraldrapids", "graniterapids", "sierraforest", "clearwaterforest"}
LION = {"arrowlake_lioncove", "lunarlake_lioncove", "pantherlake_cougarcove", "novalake_coyotecove"}
GOLDEN = {"sapphirerapids", "emeraldrapids", "graniterapids", "alderlake_goldencove",
          "meteorlake_redwoodcove"}
NEAR = {
    "mem_load_uops_retired.dram_hit": "loads served by memory: misses of the last level",
    "mem_load_uops_l3_miss_retired.local_dram": "loads served by memory of this socket",
    "mem_load_uops_misc_retired.local_dram": "loads served by memory of this socket",
    "mem_load_uops_l3_miss_retired.remote_dram_or_nofwd": "remote memory, also where a cache of the other socket did not forward",
    "mem_load_retired.other_core_l2_hit_hitm": "hits in another core's second-level cache, modified or not",
    "dtlb_load_misses.miss_caused_walk": "walks begun, not completed ones",
    "dtlb_store_misses.miss_caused_walk": "walks begun, not completed ones",
    "dtlb_misses.walk_completed": "walks for loads and stores",
    "mem_trans_retired.precise_store": "gives the store's address, no latency",
    "page_walks.d_side_walks": "walks for loads and stores, begun ones",
}
# Type -> ways, best first; a way is the events to open together.
EXTRA = {
    "load_latency": [["mem_trans_retired.load_latency_gt_4"], ["mem_uops_retired.load_latency_gt_4"],
                     ["mem_inst_retired.latency_above_threshold_4"]],
    "store_latency": [["mem_trans_retired.store_sample"], ["mem_uops_retired.store_latency"],
                      ["mem_trans_retired.precise_store"]],
    "l3_cache_miss": [["mem_load_retired.l3_miss"], ["mem_load_uops_retired.l3_miss"],
                      ["mem_load_uops_retired.llc_miss"], ["mem_load_uops_misc_retired.llc_miss"],
                      ["mem_load_retired.llc_miss"], ["mem_load_uops_l3_miss_retired.all"],
                      ["mem_load_uops_retired_misc.l3_miss"],
                      ["mem_load_uops_l3_miss_retired.local_dram"],
                      ["mem_load_uops_misc_retired.local_dram"], ["mem_load_uops_retired.dram_hit"]],
    "remote_dram": [["mem_load_l3_miss_retired.remote_dram"],
                    ["mem_load_uops_l3_miss_retired.remote_dram"],
                    ["mem_load_uops_llc_miss_retired.remote_dram"],
                    ["mem_load_uops_l3_miss_retired.remote_dram_or_nofwd"],
                    ["mem_uncore_retired.remote_dram"]],
    "hitm": [["mem_load_l3_hit_retired.xsnp_hitm", "mem_load_l3_miss_retired.remote_hitm"],
             ["mem_load_l3_hit_retired.xsnp_fwd", "mem_load_l3_miss_retired.remote_hitm"],
             ["mem_load_uops_l3_hit_retired.xsnp_hitm", "mem_load_uops_l3_miss_retired.remote_hitm"],
             ["mem_load_uops_misc_retired.l3_hit_snoop_hitm",
              "mem_load_uops_l3_miss_retired.remote_fwd_hitm"],
             ["mem_load_l3_hit_retired.xsnp_hitm"], ["mem_load_l3_hit_retired.xsnp_fwd"],
             ["mem_load_uops_l3_hit_retired.xsnp_hitm"],
             ["mem_load_uops_llc_hit_retired.xsnp_hitm"],
             ["mem_load_uops_misc_retired.l3_hit_snoop_hitm"], ["mem_load_uops_retired.hitm"],
             ["mem_uops_retired.hitm"], ["mem_load_retired.other_core_l2_hit_hitm"]],
    "branch_mispredict": [["br_misp_retired.all_branches_pebs"], ["br_misp_retired.all_branches"],
                          ["br_inst_retired.mispred"]],
    "page_walk": [["dtlb_load_misses.walk_completed", "dtlb_store_misses.walk_completed"],
                  ["dtlb_misses.walk_completed"],
                  ["dtlb_load_misses.miss_caused_walk", "dtlb_store_misses.miss_caused_walk"],
                  ["page_walks.d_side_walks"]],
    "fb_full": [["l1d_pend_miss.fb_full"], ["l1d_miss.fb_full"]],
}
IBS_EXTRA = {
    "load_latency": ("near", "am", "ibs:ld_op", "weight only for loads that missed the first-level "
                     "data cache"),
    "l3_cache_miss": ("exact", "am", "ibs:ld_op+src:l3_miss", ""),
    "remote_dram": ("exact", "am", "ibs:ld_op+src:remote_dram", ""),
    "hitm": ("near", "am", "ibs:ld_op+src:hitm", "lines that another cache held modified; Zen 3 may not tell"),
    "branch_mispredict": ("exact", "", "ibs:brn_ret+ibs:brn_misp", ""),
    "page_walk": ("near", "a", "ibs:ld_op|st_op+ibs:lin_addr_valid+ibs:dc_l1_tlb_miss"
                  "+ibs:dc_l2_tlb_miss", "accesses that missed both levels of the TLB"),
}
# Cores whose lists lack the architectural event of mispredicted branches, or
# whose kernel takes no precise level for it.
ARCHITECTURAL = {"branch_mispredict": NEHALEM}
L2_RQSTS = set(BIG) | NEHALEM | WESTMERE
L2_REQUEST = {"alderlake_gracemont", "meteorlake_crestmont", "arrowlake_crestmont",
              "arrowlake_skymont", "lunarlake_skymont", "pantherlake_darkmont", "sierraforest",
              "grandridge", "clearwaterforest", "snowridgex", "elkhartlake"}


def counters_of(core, config):
    code = config & 0xFFFF
    if code == 0x100B or (code in (0x1CD, 0x2CD) and core in
                          ("sandybridge", "jaketown", "ivybridge", "ivytown")):
        return "3"
    if code == 0x1CD:
        return "2,3,4,5,6,7,8,9" if core in LION else "1,2,3,4,5,6,7" if core in GOLDEN else "0,1,2,3"
    if code == 0x2CD:
        return "0,1" if core in LION else "0"
    return "0,1" if code in (0x5D0, 0x6D0) else ""


def extra_row(kind, core, name, value):
    config, config1, precise, address, _, interval = value
    equivalence = "near" if name in NEAR else "exact"
    flags, note = "a" * address, NEAR.get(name, "")
    if kind == "load_latency":
        flags, config1 = flags + "u", 3
        equivalence, note = "exact", "loads that took at least ldlat cycles, 3 unless said"
    if kind == "store_latency" and name != "mem_trans_retired.precise_store":
        flags += "s"
    if config & 0xFFFF in (0x1CD, 0x5D0):
        precise = 2
    if precise == 0 and kind in ("l3_cache_miss", "remote_dram", "hitm", "branch_mispredict"):
        note = "; ".join(filter(None, [note, "not precise on this core"]))
    return ("core", short(config), short(config1), str(precise), equivalence, flags, "",
            str(interval), counters_of(core, config), "", "", name.upper(), note)


def make_extra(names):
    cores = sorted({core for core, _ in names})
    groups = collections.defaultdict(set)
    for order, (kind, ways) in enumerate(EXTRA.items()):
        for core in cores:
            if core.startswith("zen"):
                if kind in IBS_EXTRA:
                    equivalence, flags, text, note = IBS_EXTRA[kind]
                    row = ("ibs_op", "80000", "", "0", equivalence, flags, text, str(IBS_INTERVAL),
                           "", "", "", "IBS op", note)
                    groups[order, kind, 0, *row].add(core)
                continue
            if core in ARCHITECTURAL.get(kind, ()):
                row = ("core", "c5", "", "0", "exact", "", "", "200000", "", "", "",
                       "BR_MISP_RETIRED.ALL_BRANCHES", "not precise on this core")
                groups[order, kind, 0, *row].add(core)
                continue
            for way in ways:
                if kind == "remote_dram" and core not in SERVERS:
                    continue
                values = [names.get((core, name)) for name in way]
                if None in values or any(value[4] for value in values):
                    continue
                for place, (name, value) in enumerate(zip(way, values)):
                    groups[order, kind, place, *extra_row(kind, core, name, value)].add(core)
                break
    for core in L2_RQSTS | L2_REQUEST:
        name = "L2_RQSTS" if core in L2_RQSTS else "L2_REQUEST"
        row = ("core", "24", "", "0", "exact", "", "", "200003", "", "", "", name, "")
        groups[len(EXTRA), "l2_rqsts", 0, *row].add(core)
    for core in set(BIG) - LION:
        row = ("core", "48", "", "0", "near", "", "", "1000003", "", "", "", "L1D_PEND_MISS", "")
        groups[len(EXTRA) + 1, "fb_alloc", 0, *row].add(core)
    ordered = sorted(groups.items(), key=lambda item: (*item[0][:3], sorted(item[1])))
    write("extra.tsv", TYPE_HEAD,
          ["\t".join([key[1], cores_text(cores), *key[3:]]) for key, cores in ordered])


# --- CPUs ------------------------------------------------------------------

# AMD gives each core ranges of models.
AMD_MODELS = {
    ("23", "zen1"): "0-2f",
    ("23", "zen2"): "30-7f,90-af",
    ("25", "zen3"): "0-f,20-5f",
    ("25", "zen4"): "10-1f,60-af",
    ("26", "zen5"): "0-2f,40-4f,60-7f",
}


def make_cpus(path):
    with open(path, encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    groups = collections.defaultdict(set)
    for row in rows:
        vendor, family, rest = row["vendor_family_model_stepping_regex"].split("-", 2)
        if vendor == "AuthenticAMD":
            model, stepping = AMD_MODELS[family, row["uarch"]], []
        else:
            model, *stepping = rest.split("-", 1)
        steppings = ""
        if stepping:
            digits = sorted(int(digit, 16) for digit in stepping[0].strip("[]"))
            if digits != list(range(digits[0], digits[-1] + 1)):
                sys.exit(f"steppings with holes: {row}")
            steppings = f"{digits[0]:x}-{digits[-1]:x}"
        groups[vendor, family, steppings, row["pmu"], row["uarch"]].update(
            model.lower().split(","))
    groups["HygonGenuine", "24", "", "cpu", "zen1"].add("0-ff")
    lines = ["\t".join([vendor, family, ",".join(sorted(models)), steppings, pmu, core])
             for (vendor, family, steppings, pmu, core), models in sorted(groups.items())]
    write("cpus.tsv", "vendor, family, models (hex), steppings (hex), PMU, core", lines)


def main():
    if len(sys.argv) != 6:
        sys.exit(__doc__)
    types, cpuids, intel, amd, kernel = sys.argv[1:]
    names = make_names(intel, amd, kernel)
    make_types(types)
    make_extra(names)
    make_cpus(cpuids)


if __name__ == "__main__":
    main()
