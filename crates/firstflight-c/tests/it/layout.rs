//! The binary interface: what a program that was compiled against an older header relies on. A struct may grow at its end; whatever
//! stands here never changes.

use firstflight_c::*;
use std::mem::offset_of;

macro_rules! holds {
    ($type:ident, $size:literal: $($field:ident $offset:literal),+) => {
        let last = 0;
        $(
            assert_eq!(offset_of!($type, $field), $offset, concat!(stringify!($type), ".", stringify!($field)));
            assert!(last <= $offset, "in order");
            let last = $offset;
        )+
        assert!(last < $size);
        assert!(size_of::<$type>() >= $size, concat!(stringify!($type), " became smaller"));
    };
}

#[test]
fn no_field_has_moved() {
    holds!(ff_config, 64: size 0, transport 8, paced 12, mss 16, initial_window 24, nxt 32, burst 40, max_burst 48, sack 56, reserved 60);
    holds!(ff_ready, 64: size 0, now 8, nxt 16, inflight 24, backlog 32, srtt 40, idle 48, timeout 56);
    holds!(ff_sent, 48: size 0, now 8, bytes 16, nxt 24, inflight 32, srtt 40);
    holds!(ff_ack, 160:
        size 0, now 8, acked 16, acked_fresh 24, lost 32, rtt 40, srtt 48, una 56, nxt 64, flight 72, sacked 80, inflight_before 88,
        inflight 96, sent 104, tx_acked_end 112, tx_lost_end 120, tx_next 128, ce 136, cwnd_limited 137, app_limited 138,
        lost_again 139, repeat_acked 140, rescue_next 141, unrepaired 142, sack_advances 143, ce_bytes 144, receiver_ts 152,
        has_receiver_ts 156, reserved 157);
    holds!(ff_congestion, 40: size 0, now 8, nxt 16, inflight_before 24, timeout 32, reserved 36);
    holds!(ff_exit_info, 72:
        size 0, at 8, since_first_send 16, rounds 24, detect_cwnd 32, cwnd 40, inflight 48, estimate 56, reason 64);
    holds!(ff_misfed_info, 32: size 0, at 8, count 16, rule 24);
}

#[test]
fn no_number_has_changed() {
    let codes = [FF_OK, FF_NULL, FF_MISALIGNED, FF_NOT_A_SENDER, FF_SIZE, FF_ARM, FF_VALUE, FF_BUG];
    assert_eq!(codes, [0, -1, -2, -3, -4, -5, -6, -7]);
    assert_eq!([FF_QUIC, FF_TCP], [0, 1]);
    assert_eq!([FF_DEFAULT, FF_ON, FF_OFF], [0, 1, 2]);
    assert_eq!([FF_RTO, FF_RTO_AGAIN, FF_PERSISTENT_CONGESTION], [0, 1, 2]);
    assert_eq!(FF_NONE, u64::MAX);
}

#[test]
fn a_sender_is_small() {
    assert!(ff_sender_size() <= 2048, "{} bytes", ff_sender_size());
}
