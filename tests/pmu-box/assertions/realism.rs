//! What a real CPU does beside what it is asked for, one switch of the model
//! at a time: what it costs, and what `ebs` says of it.

use std::{fmt::Write, thread, time::Duration};

use pmu_box::text_records::TextRecord;
use tests::{Account, Outcome, Scene, running::has_attached};

use crate::{
    Skip,
    facts::{Facts, Precision},
    log::{self, Switched},
    precise, records, walk,
};

const NO_BUFFER: &str = "IBS has no counter that goes on, and no buffer of records";

fn skip_ibs(facts: &Facts) -> Skip {
    match facts.precision {
        Precision::Ibs => Err(NO_BUFFER),
        Precision::Pebs => Ok(()),
    }
}

/// Sapphire Rapids' driver puts what can be precise to the event on a counter
/// that writes each record at once.
fn skip_distributed(facts: &Facts) -> Skip {
    match facts.cpu.as_str() {
        "sapphire-rapids" => Err("loads are on PDist, which has no shadow and needs no arming"),
        _ => Ok(()),
    }
}

/// What `ebs` told of the loads of a walk.
struct Sampled {
    scene: Scene,
    outcome: Outcome,
    records: Vec<TextRecord>,
    account: Account,
}

impl Sampled {
    fn uncovered(&self) -> u64 {
        self.account.find("uncovered").unwrap_or(0)
    }

    /// Events beyond what records and a begun interval may have are told, as
    /// many as the walk has of them.
    #[track_caller]
    fn tells_the_rest(&self, interval: u64) {
        let records = self.account.count("delivered") + self.account.lost();
        let explained = records * interval + interval - 1;
        let rest = walk::LOADS.saturating_sub(explained);
        assert_eq!(self.account.count("events"), walk::LOADS, "{}", self.outcome);
        assert_eq!(self.uncovered(), rest, "{}", self.outcome);
        let words = format!(", {rest} events that no record stands for");
        assert_eq!(self.outcome.last_line().contains(&words), rest > 0, "{}", self.outcome);
    }
}

/// Samples the loads of a walk between two marks, and leaves its account to be
/// compared with the model's log.
fn sampled(name: &str, interval: u64) -> Sampled {
    let scene = Scene::new();
    log::mark(&format!("begin {name}"));
    let line = format!("ebs -u -t memory_loads -i ={interval} -c all -o s.data walk");
    let outcome = scene.run(&line).success();
    log::mark(&format!("end {name}"));
    let text = scene.run("ebs script --format text s.data").success().out;
    let account = Account::of_stream(&scene.path("s.data"));
    let mut told = format!("interval {interval}\n");
    for key in ["events", "delivered", "uncovered"] {
        writeln!(told, "{key} {}", account.find(key).unwrap_or(0)).unwrap();
    }
    writeln!(told, "lost {}", account.lost()).unwrap();
    log::leave(&format!("{name}.account"), &told);
    Sampled { scene, outcome, records: TextRecord::all(&text), account }
}

/// The number of the load that a record tells of, by its registers.
#[track_caller]
fn number(record: &TextRecord) -> u64 {
    let round = walk::ROUNDS - record.get("rcx");
    let number = 2 * round + if record.ip() == walk::MISS { 1 } else { 2 };
    let load = walk::load(number);
    assert_eq!((record.ip(), record.get("addr")), (load.ip, load.addr), "{record:x?}");
    number
}

/// A late interrupt moves what it tells itself, and says so; no record of the
/// CPU's is moved.
pub(crate) fn skid(facts: &Facts) -> Skip {
    let scene = Scene::new();
    let _late = Switched::to("SKID", "200");
    if facts.precision == Precision::Ibs {
        log::recorded(&scene, "ibs-late", "-u -k -t instr_retired -i =10000");
        return Ok(());
    }
    let outcome = log::recorded(&scene, "late-interrupts", "-u -t uop_retired -i =1009");
    assert_eq!(precise::last_line(&outcome).exact, 0, "{outcome}");
    let line = "ebs -u -t memory_loads -i =97 -c all -o l.txt walk";
    let outcome = scene.run(line).success();
    records::are_the_truths(&TextRecord::all(&scene.read("l.txt")), 97, &outcome);
    Ok(())
}

/// Records that come no sooner than the CPU may write one are all there; those
/// of a shorter interval are fewer, and the events that they miss are told.
pub(crate) fn shadow(facts: &Facts) -> Skip {
    skip_ibs(facts)?;
    skip_distributed(facts)?;
    let _shadow = Switched::to("SHADOW", "50");
    let far = sampled("shadow-far", 97);
    records::are_the_truths(&far.records, 97, &far.outcome);
    far.tells_the_rest(97);
    assert_eq!(far.uncovered(), 0, "{}", far.outcome);
    let near = sampled("shadow-near", 7);
    near.tells_the_rest(7);
    // Five instructions a round, two of them loads.
    let most = walk::LOADS / (50 * 2 / 5);
    assert!(near.account.count("delivered") <= most, "{}", near.outcome);
    assert!(near.uncovered() > walk::LOADS / 2, "{}", near.outcome);
    assert!(near.records.iter().all(|record| number(record) > 0), "{}", near.outcome);
    Ok(())
}

/// While PEBS is being armed events pass: the interval is longer than it was
/// asked for, each record is right, and what passed is told.
pub(crate) fn arming(facts: &Facts) -> Skip {
    skip_ibs(facts)?;
    skip_distributed(facts)?;
    let _slow = Switched::to("ARM", "20");
    let sampled = sampled("arming", 97);
    sampled.tells_the_rest(97);
    assert!(sampled.uncovered() > 1000, "{}", sampled.outcome);
    let numbers: Vec<_> = sampled.records.iter().map(number).collect();
    let longest = numbers.windows(2).map(|pair| pair[1] - pair[0]).max();
    assert_eq!(longest, Some(97 + 20 * 2 / 5), "loads from one record to the next");
    Ok(())
}

/// An interrupt that is so late that the buffer overflows: what found no room
/// is in no count of the kernel's, and is told all the same.
pub(crate) fn buffer_overflow(facts: &Facts) -> Skip {
    skip_ibs(facts)?;
    let _late = Switched::to("SKID", "30000");
    let sampled = sampled("overflow", 7);
    sampled.tells_the_rest(7);
    assert!(sampled.uncovered() > 7, "{}", sampled.outcome);
    assert!(sampled.records.iter().all(TextRecord::exact), "{}", sampled.outcome);
    Ok(())
}

/// Records that the CPU keeps back without a word.
pub(crate) fn hidden_loss(facts: &Facts) -> Skip {
    skip_ibs(facts)?;
    let _broken = Switched::to("BROKEN", "loss");
    let sampled = sampled("hidden", 97);
    sampled.tells_the_rest(97);
    assert!(sampled.uncovered() > walk::LOADS / 9, "{}", sampled.outcome);
    Ok(())
}

/// At an interval of 1 the kernel takes 2 whenever it starts the counter anew.
pub(crate) fn every_event(facts: &Facts) -> Skip {
    skip_ibs(facts)?;
    let sampled = sampled("every-event", 1);
    sampled.tells_the_rest(1);
    assert!(sampled.uncovered() > 0, "{}", sampled.outcome);
    Ok(())
}

/// Two counters that overflow while PEBS is being armed are in one record. A
/// kernel drops it and tells both of a loss before format 3, and gives it to
/// both from then on (intel_pmu_drain_pebs_nhm(), arch/x86/events/intel/ds.c).
pub(crate) fn collisions(facts: &Facts) -> Skip {
    skip_ibs(facts)?;
    skip_distributed(facts)?;
    if facts.cpu == "icelake" {
        return Err("kernels know the counters of a record of format 4 by its own words");
    }
    let dropped = facts.is_before_skylake();
    let scene = Scene::new();
    let _slow = Switched::to("ARM", "20");
    let mut walk = scene.start("walk-waits");
    assert_eq!(walk.hear(), "ready");
    let target = walk.pid();
    // Both in every 550th round: its second load, and its miss.
    let sessions = [("memory_loads", 1100), ("l1_cache_miss", 550)].map(|(kind, interval)| {
        let line = format!("ebs -u -t {kind} -i ={interval} -c all -o {kind}.data {target}");
        let mut ebs = scene.start(&line);
        ebs.wait_until("it attached", |pid| has_attached(pid, target));
        ebs
    });
    thread::sleep(Duration::from_secs(1));
    log::mark("begin collisions");
    walk.tell("go");
    walk.finish().success();
    log::mark("end collisions");
    let outcomes = sessions.map(|ebs| ebs.finish().success());
    let told = outcomes.each_ref().map(Outcome::told);
    let (delivered, lost) =
        told.iter().fold((0, 0), |sum, told| (sum.0 + told.delivered, sum.1 + told.lost));
    log::leave(
        "collisions.collisions",
        &format!("delivered {delivered}\nlost {lost}\ndropped {}\n", u64::from(dropped)),
    );
    if dropped {
        for outcome in &outcomes {
            assert!(outcome.last_line().contains("collision"), "{outcome}");
        }
    }
    Ok(())
}

/// Aborted transactions change no field that `ebs` takes; perf, which asks for
/// them, sees those that the model says.
pub(crate) fn aborts(facts: &Facts) -> Skip {
    skip_ibs(facts)?;
    let _aborting = Switched::to("ABORTS", "3");
    let sampled = sampled("aborts", 997);
    records::are_the_truths(&sampled.records, 997, &sampled.outcome);
    let config = records::config(&sampled.scene, "memory_loads");
    let event = format!("cpu/config={config},period=997/ppu");
    let line = format!("perf record -q -N -B -e {event} -d --transaction -o p.data walk");
    sampled.scene.run(&line).success();
    let dump = sampled.scene.run("perf script -D -i p.data").success().out;
    let told: Vec<_> = dump.lines().filter_map(|line| line.split_once("transaction: ")).collect();
    let aborted = told.iter().filter(|(_, flags)| flags.trim() != "0").count();
    assert!(told.len() > 30, "{} transactions told", told.len());
    assert!(aborted.abs_diff(told.len() / 3) <= 1, "{aborted} aborted of {}", told.len());
    Ok(())
}
