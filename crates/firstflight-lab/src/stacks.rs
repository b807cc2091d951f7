//! Congestion controllers that come with a QUIC stack, by name: what people run today, to compare
//! ours with.

/// One controller of one stack. Those of s2n-quic, whose stack runs on a clock of its own, are driven
/// through its public traits by noq's, and in the simulator.
#[derive(Debug, PartialEq, Eq)]
pub struct StackArm {
    /// Stack and controller: `noq:cubic`.
    pub name: &'static str,
    /// Description.
    pub summary: &'static str,
    /// Whose code it is.
    pub source: &'static str,
    /// Why the same trial gives other numbers the next time, as the end of a sentence; `None` if it
    /// does not.
    pub varies: Option<&'static str>,
}

/// All of them.
pub static STACK_ARMS: &[StackArm] = &[
    StackArm {
        name: "noq:cubic",
        summary: "noq's CUBIC, its default: slow start until loss, RFC 8312",
        source: "noq-proto 1.4",
        varies: None,
    },
    StackArm {
        name: "noq:newreno",
        summary: "noq's NewReno",
        source: "noq-proto 1.4",
        varies: None,
    },
    StackArm {
        name: "noq:bbr3",
        summary: "noq's BBRv3; its rows are not repeatable",
        source: "noq-proto 1.4",
        varies: Some("it draws the times of its probes from the system's random source"),
    },
    StackArm {
        name: "quinn:cubic",
        summary: "quinn's CUBIC, its default: slow start, RFC 8312",
        source: "quinn-proto 0.11",
        varies: None,
    },
    StackArm {
        name: "quinn:newreno",
        summary: "quinn's NewReno",
        source: "quinn-proto 0.11",
        varies: None,
    },
    StackArm {
        name: "quinn:bbr",
        summary: "quinn's BBRv1, experimental; its rows are not repeatable",
        source: "quinn-proto 0.11",
        varies: Some("it draws the order of its pacing gains from the system's random source"),
    },
    StackArm {
        name: "s2n:cubic",
        summary: "s2n-quic's CUBIC, hybrid slow start, on noq's stack",
        source: "s2n-quic-core 0.91",
        varies: None,
    },
    StackArm {
        name: "s2n:bbr",
        summary: "s2n-quic's BBRv2 on noq's stack",
        source: "s2n-quic-core 0.91",
        varies: None,
    },
];

impl StackArm {
    /// The one of that name.
    pub fn find(name: &str) -> Option<&'static StackArm> {
        STACK_ARMS.iter().find(|arm| arm.name == name)
    }

    /// Stack and controller stand in this text, whether or not there is such a one.
    pub(crate) fn is_meant(text: &str) -> bool {
        let stack = text.split_once(':').map(|(stack, _)| stack);
        stack.is_some_and(|stack| {
            STACK_ARMS.iter().any(|arm| arm.name.split(':').next() == Some(stack))
        })
    }
}
