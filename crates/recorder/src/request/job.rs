//! A sampling job: one type, from the command line over the wire to the
//! worker that does it.

use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Request;

/// What is asked of the machine, and how long and by what it is served. No
/// path, and no word that is handed to the kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    #[serde(flatten)]
    pub request: Request,
    /// Samples after which sampling ends, of those that the type means where
    /// the sample's fields tell it; None: never.
    #[serde(default)]
    pub count: Option<u64>,
    /// The kernel's symbols go into the stream, where the kernel, or the
    /// daemon's policy, shows them to the user.
    #[serde(default)]
    pub kernel_symbols: bool,
    /// What is counted in the kernel is taken out so often: each second at
    /// most.
    #[serde(
        rename = "every_seconds",
        default = "each_minute",
        serialize_with = "serialize_seconds",
        deserialize_with = "deserialize_seconds"
    )]
    pub every: Duration,
    /// Rings serve where the kernel takes no program.
    #[serde(default = "yes")]
    pub rings: bool,
    /// For the stream's header.
    #[serde(default)]
    pub command_line: Vec<String>,
}

impl Job {
    /// A request without an end, served as is usual.
    pub fn new(request: Request) -> Job {
        Job {
            request,
            count: None,
            kernel_symbols: false,
            every: each_minute(),
            rings: true,
            command_line: Vec::new(),
        }
    }
}

fn each_minute() -> Duration {
    Duration::from_secs(60)
}

fn yes() -> bool {
    true
}

fn serialize_seconds<S: Serializer>(span: &Duration, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_u64(span.as_secs())
}

fn deserialize_seconds<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
    u64::deserialize(from).map(|seconds| Duration::from_secs(seconds.max(1)))
}

#[cfg(test)]
mod tests {
    use perfdata::{Pid, Tid};

    use super::*;
    use crate::request::{InKernel, ProgramTask, SampleConditions, SiteTables};
    use crate::{Modes, Target};

    #[test]
    fn jobs_come_out_as_they_went_in_but_for_their_target() {
        let keep = SampleConditions {
            pids: vec![Pid(3)],
            tids: vec![Tid(4), Tid(5)],
            cgroup: Some(6),
            comm: Some("storm".into()),
            ip: Some((1, u64::MAX)),
            address: Some((0, 9)),
            one_in: 7,
            least_weight: 8,
            data_src: Some((12, 4)),
            user_only: false,
        };
        let tables = SiteTables { sites: 128, by_process: true, strides: true, callers: false };
        for in_kernel in [
            None,
            Some(InKernel::aggregate()),
            Some(InKernel { duty: ProgramTask::Filter, keep: keep.clone() }),
            Some(InKernel { duty: ProgramTask::Aggregate(tables), keep: keep.clone() }),
        ] {
            let request = Request {
                masks: vec!["l3".into()],
                interval: Some(u64::MAX),
                ring_pages: Some(8),
                in_kernel,
                ..Request::new("page_fault", Modes::KERNEL, Target::System)
            };
            let job = Job {
                count: Some(7),
                every: Duration::from_secs(5),
                rings: false,
                command_line: vec!["ebs".into()],
                ..Job::new(request)
            };
            let text = serde_json::to_string(&job).unwrap();
            assert_eq!(serde_json::from_str::<Job>(&text).unwrap(), job, "{text}");
            assert!(!text.contains("target"), "{text}");
        }
    }

    #[test]
    fn little_need_be_said() {
        let read = |text: &str| serde_json::from_str::<Job>(text);
        let plain = Job::new(Request::new("page_fault", Modes::USER, Target::System));
        assert_eq!(read(r#"{"event":"page_fault","user":true}"#).unwrap(), plain);
        let counted = r#"{"event":"x","in_kernel":{"duty":{"aggregate":{}}},"every_seconds":0}"#;
        let counted = read(counted).unwrap();
        let tables = SiteTables { sites: SiteTables::AUTO_SITES, ..SiteTables::default() };
        let asked =
            InKernel { duty: ProgramTask::Aggregate(tables), keep: SampleConditions::default() };
        assert_eq!(counted.request.in_kernel, Some(asked));
        assert_eq!(counted.every, Duration::from_secs(1));
        assert!(read("{}").unwrap_err().to_string().contains("missing field `event`"));
        assert!(read(r#"{"event":"x","in_kernel":{"duty":"execute"}}"#).is_err());
    }

    #[test]
    fn no_client_says_what_its_user_may_see() {
        let text = r#"{"event":"x","in_kernel":{"duty":"filter","keep":{"user_only":true}}}"#;
        let job: Job = serde_json::from_str(text).unwrap();
        assert!(!job.request.in_kernel.unwrap().keep.user_only);
    }
}
