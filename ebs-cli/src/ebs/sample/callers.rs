//! How `-g` alone has callers recorded: by frame pointers where these lead through,
//! else by copies of the stack.

use crate::ebs::invocation::SampleJob;
use crate::terminal::said::say;
use sampling::request::CallGraph;
use sampling::{Command, Target};
use std::path::{Path, PathBuf};
use symbolizer::FramePointers;

/// Lets the kernel follow frame pointers where the job would have it so, the
/// program has them and it is the kernel that samples; says which it is.
pub(super) fn choose(job: &mut SampleJob, emulated: bool) {
    let Some(asked) = job.asked.request.call_graph.filter(|_| job.prefers_frame_pointers) else {
        return;
    };
    let program = program(job);
    let kept = match &program {
        Some(program) if !emulated => FramePointers::of_program(program),
        _ => FramePointers::Unknown,
    };
    let chosen = if kept == FramePointers::Kept { CallGraph::FramePointers } else { asked };
    job.asked.request.call_graph = Some(chosen);
    say("ebs", &told(chosen, kept, program.as_deref()));
}

fn told(chosen: CallGraph, kept: FramePointers, program: Option<&Path>) -> String {
    let of = program.map_or_else(String::new, |path| format!("{} ", path.display()));
    let why = match kept {
        FramePointers::Kept => format!("{of}keeps frame pointers"),
        FramePointers::Omitted => {
            format!("{of}or its C library is built without frame pointers")
        }
        FramePointers::Unknown => "that fits any program".to_owned(),
    };
    format!("callers by --call-graph {chosen}: {why}")
}

/// The program that is to be sampled, where it is one.
fn program(job: &SampleJob) -> Option<PathBuf> {
    match job.asked.request.target {
        Target::Command => Command::look_up(job.command.first()?),
        Target::Process(pid) => Some(PathBuf::from(format!("/proc/{}/exe", pid.0))),
        Target::System | Target::Cgroup => None,
    }
}
