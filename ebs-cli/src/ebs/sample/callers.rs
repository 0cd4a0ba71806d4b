//! How `-g` alone has callers recorded: by frame pointers where these lead through,
//! else by copies of the stack.

use crate::ebs::sample::{OutputChoice, SampleJob};
use crate::terminal::say;
use recorder::in_kernel::InKernel;
use recorder::request::CallGraph;
use recorder::{Command, Target};
use std::path::{Path, PathBuf};
use symbolizer::FramePointers;

/// Lets the kernel follow frame pointers where the job would have it so, the
/// program has them and it is the kernel that samples; says which it is. Gives whether
/// that is another way than the job had.
pub(super) fn choose(job: &mut SampleJob, emulated: bool) -> bool {
    let Some(asked) = job.asked.request.call_graph.filter(|_| job.prefers_frame_pointers) else {
        return false;
    };
    let program = program(job);
    let counts = job.asked.request.in_kernel.as_ref().is_some_and(InKernel::counts);
    if counts {
        job.asked.request.call_graph = Some(CallGraph::FramePointers);
        let kept = program.as_deref().map_or(FramePointers::Unknown, FramePointers::of_program);
        say("ebs", &counted(kept, program.as_deref()));
        return asked != CallGraph::FramePointers;
    }
    let kept = match &program {
        Some(program) if !emulated => FramePointers::of_program(program),
        _ => FramePointers::Unknown,
    };
    let chosen = if kept == FramePointers::Kept { CallGraph::FramePointers } else { asked };
    job.asked.request.call_graph = Some(chosen);
    if !job.is_quiet && job.output != OutputChoice::Summary {
        say("ebs", &told(chosen, kept, program.as_deref()));
    }
    chosen != asked
}

fn counted(kept: FramePointers, program: Option<&Path>) -> String {
    let of = program.map_or_else(String::new, |path| path.display().to_string());
    let but = match kept {
        FramePointers::Omitted => format!(
            ", and {of} or its C library is built without: callers of user space may be passed over"
        ),
        FramePointers::Kept => format!(", which {of} keeps"),
        FramePointers::Unknown => String::new(),
    };
    format!("callers by --call-graph fp: in the kernel they are found by frame pointers alone{but}")
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
