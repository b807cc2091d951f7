/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * All arms again, with a record of every ACK, and the kernel's own CUBIC and Reno as controllers that only call the kernel's functions,
 * including HyStart.
 */
#define FF_TRACED
#include "arms.h"

extern u32 tcp_reno_ssthresh(struct sock *sk) __ksym;
extern void tcp_reno_cong_avoid(struct sock *sk, u32 ack, u32 acked) __ksym;

OPERATION void BPF_PROG(kernel_cubic_init, struct sock *sk)
{
	cubictcp_init(sk);
	trace(sk, TRACE_BEGUN, -1, 0);
}
OPERATION void BPF_PROG(kernel_cubic_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	trace(sk, TRACE_ACKED, sample->rtt_us, 0);
	cubictcp_acked(sk, sample);
}
OPERATION void BPF_PROG(kernel_cubic_cong_avoid, struct sock *sk, u32 una, u32 acked)
{
	cubictcp_cong_avoid(sk, una, acked);
}
OPERATION u32 BPF_PROG(kernel_cubic_ssthresh, struct sock *sk)
{
	return cubictcp_recalc_ssthresh(sk);
}
OPERATION void BPF_PROG(kernel_cubic_set_state, struct sock *sk, u8 state)
{
	cubictcp_state(sk, state);
	trace(sk, TRACE_STATE, -1, state);
}
OPERATION u32 BPF_PROG(kernel_cubic_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}
OPERATION void BPF_PROG(kernel_cubic_cwnd_event, struct sock *sk, u32 event)
{
	cubic_event(sk, event);
}
OPERATION void BPF_PROG(kernel_cubic_cwnd_event_tx_start, struct sock *sk)
{
	cubic_tx_start(sk);
}
OPERATIONS(kernel_cubic, "ff_k_cubic", .cong_avoid = (void *)kernel_cubic_cong_avoid, .pkts_acked = (void *)kernel_cubic_pkts_acked)

OPERATION void BPF_PROG(kernel_reno_init, struct sock *sk)
{
	trace(sk, TRACE_BEGUN, -1, 0);
}
OPERATION void BPF_PROG(kernel_reno_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	trace(sk, TRACE_ACKED, sample->rtt_us, 0);
}
OPERATION void BPF_PROG(kernel_reno_cong_avoid, struct sock *sk, u32 una, u32 acked)
{
	tcp_reno_cong_avoid(sk, una, acked);
}
OPERATION u32 BPF_PROG(kernel_reno_ssthresh, struct sock *sk)
{
	return tcp_reno_ssthresh(sk);
}
OPERATION void BPF_PROG(kernel_reno_set_state, struct sock *sk, u8 state)
{
	trace(sk, TRACE_STATE, -1, state);
}
OPERATION u32 BPF_PROG(kernel_reno_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}
OPERATION void BPF_PROG(kernel_reno_cwnd_event, struct sock *sk, u32 event)
{
}
OPERATION void BPF_PROG(kernel_reno_cwnd_event_tx_start, struct sock *sk)
{
}
OPERATIONS(kernel_reno, "ff_k_reno", .cong_avoid = (void *)kernel_reno_cong_avoid, .pkts_acked = (void *)kernel_reno_pkts_acked)

char LICENSE[] SEC("license") = "GPL";
