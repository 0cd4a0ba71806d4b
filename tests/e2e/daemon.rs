//! ebsd: who may what, what arrives, what is lost.

use tests::{Running, Scene, Workload};

mod authorization;
mod clients;
mod confinement;
mod conservation;
mod describing;
mod descriptors;
mod exported;
mod guards;
mod in_kernel;
mod killed;
mod limits;
mod lingering;
mod operation {
    //! How ebsd is run: by a service manager, with a configuration that changes.

    mod log;
    mod numbers;
    mod package;
    mod reload;
    pub(super) mod service_manager;
    mod socket;
    mod watchdog;
}
mod out_of_memory;
mod pid_numbers;
mod quiet;
mod rate;
mod raw;
mod readers;
mod serving;
mod set_user_id;
pub(crate) mod standing;
mod stream;
mod verbs;

/// A storm (tests/programs/storm.c) with these arguments, of which `wait` is
/// one: it begins when it is told a line.
fn storm(scene: &Scene, arguments: &str) -> Running {
    let mut command = scene.command(Workload::Storm.build(scene));
    let mut storm = Running::start(command.args(arguments.split(' ')));
    assert_eq!(storm.hear(), "ready");
    storm
}
