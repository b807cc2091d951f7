//! Congestion controllers that come with a QUIC stack, by name: controllers in use today, to
//! compare ours with.

/// One controller of one stack. Controllers of s2n-quic, whose stack uses its own clock, are driven
/// through their public traits by noq's stack, and in the simulator.
#[derive(Debug, PartialEq, Eq)]
pub struct StackArm {
    /// Stack and controller: `noq:cubic`.
    pub name: &'static str,
    /// Description.
    pub summary: &'static str,
    /// Source of the code.
    pub source: &'static str,
    /// Why the same trial gives different numbers each time, as the end of a sentence; `None` if it
    /// does not.
    pub varies: Option<&'static str>,
}

/// All stack controllers.
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
    /// The stack controller with that name.
    pub fn find(name: &str) -> Option<&'static StackArm> {
        STACK_ARMS.iter().find(|arm| arm.name == name)
    }

    /// Whether this text names a stack and a controller, existing or not.
    pub(crate) fn is_meant(text: &str) -> bool {
        let stack = text.split_once(':').map(|(stack, _)| stack);
        stack.is_some_and(|stack| {
            STACK_ARMS.iter().any(|arm| arm.name.split(':').next() == Some(stack))
        })
    }
}
