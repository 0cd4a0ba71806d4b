//! `ebs sessions`: what the daemon does for this user.

use anyhow::{Result, bail};
use clap::Args;
use recorder::remote::client::{Client, SOCKET};
use recorder::remote::protocol::{Reply, SessionLine, StandingLine, Verb};
use std::io::Write;
use std::path::{Path, PathBuf};

/// `ebs sessions`.
#[derive(Clone, Debug, Default, Args)]
pub struct SessionsArguments {
    /// Prints JSON.
    #[arg(long)]
    pub json: bool,
    /// Where the daemon listens [default: /run/ebsd.sock].
    #[arg(long, value_name = "PATH")]
    pub socket: Option<PathBuf>,
}

/// Prints both lists.
///
/// # Errors
///
/// No daemon; those of `out`.
pub fn run(arguments: &SessionsArguments, out: &mut dyn Write) -> Result<()> {
    let mut client = Client::connect(arguments.socket.as_deref().unwrap_or(Path::new(SOCKET)))?;
    let Reply::Sessions { sessions } = client.ask(&Verb::Sessions)? else {
        bail!("the daemon does not list sessions; install the same version of both");
    };
    let Reply::Standing { sessions: standing } = client.ask(&Verb::Standing)? else {
        bail!("the daemon does not list standing sessions; install the same version of both");
    };
    if arguments.json {
        let all = serde_json::json!({ "sessions": sessions, "standing": standing });
        analysis::json::write_pretty(&all, &mut *out)?;
        return Ok(writeln!(out)?);
    }
    out.write_all(text(&sessions, &standing).as_bytes())?;
    Ok(())
}

fn text(sessions: &[SessionLine], standing: &[StandingLine]) -> String {
    let mut out = String::new();
    for SessionLine { session, name, pid, seconds, clients } in sessions {
        let of = pid.map_or_else(|| "the system".to_owned(), |pid| format!("process {pid}"));
        out.push_str(&format!("{session}  {name} of {of}, {seconds} s, {clients} clients\n"));
    }
    for StandingLine { name, event, state, bytes, written, lost } in standing {
        let lost: Vec<String> = lost.iter().map(|(stage, n)| format!("{stage} {n}")).collect();
        let lost = match lost.is_empty() {
            true => String::new(),
            false => format!(", lost: {}", lost.join(", ")),
        };
        let kib = bytes.div_ceil(1024);
        out.push_str(&format!(
            "{name}  {event}, standing: {state}; {kib} KiB kept, {written} samples written{lost}\n"
        ));
    }
    if out.is_empty() {
        out.push_str("# no session of yours, and no standing one that you may read\n");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_session_has_a_line() {
        let session = SessionLine {
            session: 3,
            name: "page_fault".into(),
            pid: Some(77),
            seconds: 12,
            clients: 2,
        };
        let standing = StandingLine {
            name: "web".into(),
            event: "cpu_clock".into(),
            state: "running".into(),
            bytes: 1025,
            written: 9,
            lost: [("spool".to_owned(), 4)].into(),
        };
        assert_eq!(
            text(&[session], &[standing]),
            "3  page_fault of process 77, 12 s, 2 clients\n\
             web  cpu_clock, standing: running; 2 KiB kept, 9 samples written, lost: spool 4\n"
        );
        assert!(text(&[], &[]).starts_with("# no session"));
    }
}
