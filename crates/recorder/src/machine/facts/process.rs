//! The process that is to be sampled.

use perfdata::Pid;

use super::tree::{FactsError, Tree};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProcessState {
    Absent,
    Present {
        /// Real, effective and saved user id.
        uids: [u32; 3],
        /// The process this thread belongs to; itself for a process.
        leader: Pid,
        zombie: bool,
        kernel_thread: bool,
    },
}

impl ProcessState {
    /// None when /proc itself cannot be read.
    pub(super) fn read(tree: &Tree<'_>, pid: Pid) -> Result<Option<ProcessState>, FactsError> {
        let file = format!("proc/{pid}/status");
        let Some(text) = tree.text(&file)? else {
            // hidepid= mounts hide other users' processes: absence proves
            // nothing then, and the kernel's own answer is the better one.
            let proc_is_open = tree.text("proc/1/status")?.is_some();
            return Ok(proc_is_open.then_some(ProcessState::Absent));
        };
        let mut uids = None;
        let mut leader = pid;
        let (mut zombie, mut kernel_thread) = (false, false);
        for (index, line) in text.lines().enumerate() {
            let Some((key, value)) = line.split_once(':') else { continue };
            let value = value.trim();
            let number = |word: &str| {
                word.parse::<u32>().map_err(|_| tree.malformed(&file, index + 1, word, "number"))
            };
            match key {
                "State" => zombie = value.starts_with(['Z', 'X']),
                "Tgid" => leader = Pid(number(value)?.cast_signed()),
                "Kthread" => kernel_thread = number(value)? == 1,
                "Uid" => {
                    let mut words = value.split_ascii_whitespace();
                    let mut next = || number(words.next().unwrap_or(""));
                    uids = Some([next()?, next()?, next()?]);
                }
                _ => {}
            }
        }
        Ok(uids.map(|uids| ProcessState::Present { uids, leader, zombie, kernel_thread }))
    }
}
