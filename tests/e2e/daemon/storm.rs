//! The program that most tests of the daemon sample.

use tests::{Running, Scene, Workload};

/// A storm (tests/programs/storm.c) with these arguments, of which `wait` is
/// one: it begins when it is told a line.
pub(super) fn storm(scene: &Scene, arguments: &str) -> Running {
    let mut command = scene.command(Workload::Storm.build(scene));
    let mut storm = Running::start(command.args(arguments.split(' ')));
    assert_eq!(storm.hear(), "ready");
    storm
}
