#!/usr/bin/env python3
"""Makes quantities.tsv, what metrics.tsv counts on each core, from a list.

usage: generate_quantities.py METRICS.csv

METRICS  columns uarch, pmu, metric, raw, event, note, source; raw holds config
         words in hexadecimal, added up where several are to be

The codes are those of intel/perfmon and AMD's lists (NOTICE). Output is sorted
and the same for the same input; standard library only.
"""

import collections
import csv
import os
import sys

HEAD = (
    "# quantity, cores, PMU (core: the core's own), config words (hex) to add up, events as their "
    "maker calls them, note; made by generate_quantities.py, see NOTICE\n"
)

cores = collections.defaultdict(list)
with open(sys.argv[1], newline="", encoding="utf-8") as source:
    for row in csv.DictReader(source):
        if not row["raw"]:
            continue
        pmu = row["pmu"] if row["pmu"] == "amd_l3" else "core"
        codes = ",".join(f"{int(code, 0):x}" for code in row["raw"].split(" + "))
        events = row["event"].replace(" + ", ",").lower()
        note = row["note"] if row["note"].startswith(("errata", "proxy", "umasks", "derived")) else ""
        cores[row["metric"], pmu, codes, events, note].append(row["uarch"])
place = os.path.join(os.path.dirname(os.path.abspath(__file__)), "quantities.tsv")
with open(place, "w", encoding="ascii", newline="\n") as out:
    out.write(HEAD)
    for (metric, pmu, codes, events, note), of in sorted(cores.items()):
        print(metric, ",".join(sorted(of)), pmu, codes, events, note, sep="\t", file=out)
