//! Workloads and checks of the whole program.
