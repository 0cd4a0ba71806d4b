//! Why something could not be measured.

use std::io;

#[derive(Debug, thiserror::Error)]
pub enum LatencyError {
    #[error(
        "no {bytes} bytes of memory to measure: {source}; raise `ulimit -v` or the limit of the \
         container, or measure less (a smaller largest size)"
    )]
    Memory { bytes: u64, source: io::Error },
    #[error(
        "cannot run on CPU {cpu}: {source}; /sys/devices/system/cpu/online lists those that there \
         are, and Cpus_allowed_list in /proc/self/status those that this process may use"
    )]
    Cpu { cpu: u32, source: io::Error },
    #[error("cannot start a thread: {0}; raise `ulimit -u` or the limit of the container")]
    Thread(io::Error),
    #[error(
        "memory of node {node} cannot be asked for: {source}; Mems_allowed_list in \
         /proc/self/status says which nodes this process may use"
    )]
    Node { node: u32, source: io::Error },
    #[error(
        "CPU {0} is not among those that this process may use (Cpus_allowed_list in \
         /proc/self/status): name another, or raise the limit with taskset(1)"
    )]
    NotAllowed(u32),
}
