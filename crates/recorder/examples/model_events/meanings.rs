//! What events mean to the model, by their makers' names: words of
//! tests/pmu-box/model/events.cc, joined by `|`.

/// What an event means; None: the model has nothing that it counts.
pub(crate) fn of_name(name: &str) -> Option<&'static str> {
    let name = name.to_ascii_lowercase();
    BY_NAME.iter().find(|(_, names)| names.contains(&name.as_str())).map(|(meaning, _)| *meaning)
}

/// What requests to the second-level cache of an origin with a result mean;
/// None: nothing asks for it there.
pub(crate) fn of_request(origin: &str, result: &str) -> Option<&'static str> {
    Some(match (origin, result) {
        ("demand_rd", "hit") => "read_found",
        ("demand_rd", "miss") => "read_not_found",
        ("rfo", "hit") => "own_found",
        ("rfo", "miss") => "own_not_found",
        _ => return None,
    })
}

/// Meanings and the names that have them. Where a maker counts
/// micro-operations the model counts instructions: each makes one.
const BY_NAME: &[(&str, &[&str])] = &[
    (
        "instructions",
        &[
            "inst_retired.any",
            "inst_retired.any_p",
            "inst_retired.prec_dist",
            "uops_retired.all",
            "uops_retired.any",
            "uops_retired.retire_slots",
            "uops_retired.slots",
            "uops_issued.any",
            "ex_ret_instr",
            "ex_ret_cops",
            "ex_ret_ops",
        ],
    ),
    (
        "cycles",
        &[
            "cpu_clk_unhalted.thread",
            "cpu_clk_unhalted.thread_p",
            "cpu_clk_unhalted.core",
            "cpu_clk_unhalted.core_p",
            "cpu_clk_unhalted.ref_tsc",
            "cpu_clk_unhalted.ref",
            "inst_retired.total_cycles_ps",
            "ls_not_halted_cyc",
        ],
    ),
    ("slots", &["topdown.slots", "topdown.slots_p"]),
    (
        "load_latency",
        &[
            "mem_trans_retired.load_latency_gt_4",
            "mem_trans_retired.load_latency_gt_8",
            "mem_trans_retired.load_latency_gt_16",
            "mem_trans_retired.load_latency_gt_32",
            "mem_trans_retired.load_latency_gt_64",
            "mem_trans_retired.load_latency_gt_128",
            "mem_trans_retired.load_latency_gt_256",
            "mem_trans_retired.load_latency_gt_512",
            "mem_inst_retired.latency_above_threshold_0",
            "mem_inst_retired.latency_above_threshold_4",
        ],
    ),
    ("store_sample", &["mem_trans_retired.store_sample", "mem_trans_retired.precise_store"]),
    (
        "load",
        &[
            "mem_inst_retired.all_loads",
            "mem_uops_retired.all_loads",
            "mem_inst_retired.loads",
            "ls_dispatch.ld_dispatch",
        ],
    ),
    (
        "store",
        &[
            "mem_inst_retired.all_stores",
            "mem_uops_retired.all_stores",
            "mem_inst_retired.stores",
            "ls_dispatch.store_dispatch",
        ],
    ),
    (
        "load|store",
        &["mem_inst_retired.any", "ls_dispatch.all", "ls_dc_accesses", "all_dc_accesses"],
    ),
    ("locked", &["mem_inst_retired.lock_loads", "mem_uops_retired.lock_loads"]),
    (
        "l1_hit",
        &["mem_load_retired.l1_hit", "mem_load_uops_retired.l1_hit", "mem_load_retired.l1d_hit"],
    ),
    ("l2_hit", &["mem_load_retired.l2_hit", "mem_load_uops_retired.l2_hit"]),
    (
        "l3_hit",
        &[
            "mem_load_retired.l3_hit",
            "mem_load_uops_retired.l3_hit",
            "mem_load_uops_retired.llc_hit",
            "mem_load_retired.llc_unshared_hit",
        ],
    ),
    (
        "l1_miss",
        &["mem_load_retired.l1_miss", "mem_load_uops_retired.l1_miss", "ls_mab_alloc.loads"],
    ),
    ("l1_store_miss", &["ls_mab_alloc.stores"]),
    (
        "l1_miss|l1_store_miss",
        &[
            "l1d.replacement",
            "l1d.repl",
            "ls_mab_alloc.load_store_allocations",
            "ls_dmnd_fills_from_sys.all",
            "ls_any_fills_from_sys.all",
            "l2_request_g1.all_dc",
            "l2_cache_accesses_from_dc_misses",
        ],
    ),
    ("l2_miss", &["mem_load_retired.l2_miss", "mem_load_uops_retired.l2_miss"]),
    (
        "l3_miss",
        &[
            "mem_load_retired.l3_miss",
            "mem_load_uops_retired.l3_miss",
            "mem_load_uops_retired.llc_miss",
            "mem_load_uops_misc_retired.llc_miss",
            "mem_load_retired.llc_miss",
            "mem_load_l3_miss_retired.local_dram",
            "mem_load_uops_l3_miss_retired.local_dram",
            "mem_load_uops_llc_miss_retired.local_dram",
            "longest_lat_cache.miss",
        ],
    ),
    (
        "l2_miss|own_not_found",
        &["longest_lat_cache.reference", "l2_cache_req_stat.ic_dc_miss_in_l2"],
    ),
    ("read_found|own_found", &["l2_cache_req_stat.ic_dc_hit_in_l2"]),
    (
        "read_found|own_found|l2_miss|own_not_found",
        &["l2_cache_req_stat.ic_dc_hit_in_l2|l2_cache_req_stat.ic_dc_miss_in_l2"],
    ),
    (
        "hitm",
        &[
            "mem_load_l3_hit_retired.xsnp_hitm",
            "mem_load_l3_hit_retired.xsnp_fwd",
            "mem_load_uops_l3_hit_retired.xsnp_hitm",
            "mem_load_uops_llc_hit_retired.xsnp_hitm",
            "mem_load_retired.other_core_l2_hit_hitm",
        ],
    ),
    (
        "clean_snoop",
        &[
            "mem_load_l3_hit_retired.xsnp_hit",
            "mem_load_l3_hit_retired.xsnp_no_fwd",
            "mem_load_uops_l3_hit_retired.xsnp_hit",
            "mem_load_uops_llc_hit_retired.xsnp_hit",
        ],
    ),
    // Another socket, a fill under way that a second load meets, order that is broken: not there.
    (
        "never",
        &[
            "mem_load_retired.hit_lfb",
            "mem_load_retired.fb_hit",
            "mem_load_uops_retired.hit_lfb",
            "machine_clears.mem_order",
            "machine_clears.memory_ordering",
            "mem_uncore_retired.remote_dram",
            "mem_load_l3_miss_retired.remote_dram",
            "mem_load_l3_miss_retired.remote_hitm",
            "mem_load_l3_miss_retired.remote_fwd",
            "mem_load_uops_l3_miss_retired.remote_dram",
            "mem_load_uops_l3_miss_retired.remote_hitm",
            "mem_load_uops_llc_miss_retired.remote_dram",
            "mem_load_uops_llc_miss_retired.remote_hitm",
        ],
    ),
    (
        "stlb_miss_load",
        &[
            "mem_inst_retired.stlb_miss_loads",
            "mem_uops_retired.stlb_miss_loads",
            "mem_load_retired.dtlb_miss",
            "dtlb_load_misses.walk_completed",
        ],
    ),
    (
        "stlb_miss_store",
        &[
            "mem_inst_retired.stlb_miss_stores",
            "mem_uops_retired.stlb_miss_stores",
            "mem_store_retired.dtlb_miss",
            "dtlb_store_misses.walk_completed",
        ],
    ),
    (
        "stlb_miss_load|stlb_miss_store",
        &["dtlb_misses.walk_completed", "ls_l1_d_tlb_miss.all_l2_miss", "l2_dtlb_misses"],
    ),
    ("split_load", &["mem_inst_retired.split_loads", "mem_uops_retired.split_loads"]),
    ("split_store", &["mem_inst_retired.split_stores", "mem_uops_retired.split_stores"]),
    (
        "blocked_load",
        &["ld_blocks.store_forward", "ld_blocks.all_block", "ls_bad_status2.stli_other"],
    ),
    (
        "branch",
        &["br_inst_retired.all_branches", "br_inst_retired.all_branches_pebs", "ex_ret_brn"],
    ),
    ("conditional", &["br_inst_retired.conditional", "br_inst_retired.cond", "ex_ret_cond"]),
    ("conditional_taken", &["br_inst_retired.cond_taken"]),
    ("taken", &["br_inst_retired.near_taken", "ex_ret_brn_tkn"]),
    ("call", &["br_inst_retired.near_call"]),
    ("return", &["br_inst_retired.near_return", "ex_ret_near_ret"]),
    ("far", &["br_inst_retired.far_branch", "ex_ret_brn_far"]),
    ("indirect", &["br_inst_retired.indirect"]),
    (
        "mispredicted",
        &["br_misp_retired.all_branches", "br_misp_retired.all_branches_pebs", "ex_ret_brn_misp"],
    ),
    (
        "mispredicted_conditional",
        &["br_misp_retired.conditional", "br_misp_retired.cond", "ex_ret_cond_misp"],
    ),
    (
        "mispredicted_taken",
        &["br_misp_retired.near_taken", "br_misp_retired.cond_taken", "ex_ret_brn_tkn_misp"],
    ),
    ("read_not_found", &["l2_rqsts.demand_data_rd_miss", "l2_rqsts.ld_miss"]),
    ("read_found", &["l2_rqsts.demand_data_rd_hit", "l2_rqsts.ld_hit"]),
    ("own_not_found", &["l2_rqsts.rfo_miss"]),
    ("own_found", &["l2_rqsts.rfo_hit"]),
];
