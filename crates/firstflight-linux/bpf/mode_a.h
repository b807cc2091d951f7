/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Mode A: the kernel controls recovery (PRR), pacing and, through CUBIC's functions, congestion avoidance. A startup only changes window
 * and threshold in slow start.
 */
#ifndef FF_MODE_A_H
#define FF_MODE_A_H

#include "firstflight.h"

INLINE void mode_a_init(const struct startup *startup, struct sock *sk, struct common *c, u32 size)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;

	cubictcp_init(sk);
	if (!c)
		return;
	/* A socket that returns to this algorithm still has its old state. */
	__builtin_memset(c, 0, size);
	common_init(sk, c);
	if (startup->start)
		startup->start(c, tp->tcp_mstamp, tp->snd_nxt);
}

/* Runs on every ACK, before the kernel detects losses. */
INLINE void mode_a_pkts_acked(const struct startup *startup, struct sock *sk, struct common *c, const struct ack_sample *sample)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct window w = { .cwnd = tp->snd_cwnd, .ssthresh = tp->snd_ssthresh };
	struct decision d;
	struct ack ack;

	cubic_acked(sk, sample);
	if (!c)
		return;
	take_sample(sk, c, sample);
	fill_ack(&ack, sk, c, c->acked);
	if (startup->on_rtt && ack.rtt_us != NO_RTT)
		startup->on_rtt(c, &ack);
	if (!startup->sample || !in_slow_start(tp) || reducing(sk))
		return;
	d = startup->sample(c, &ack, &w);
	if (d.verdict != STAY && !apply(sk, c, startup->number, &d) && !in_slow_start(tp))
		report(sk, c, startup->number, reached(startup, c), w.cwnd, ack.inflight, tp->snd_ssthresh);
}

/* The window may grow. */
INLINE void mode_a_cong_avoid(const struct startup *startup, struct sock *sk, struct common *c, u32 una, u32 acked)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct window w = { .cwnd = tp->snd_cwnd, .ssthresh = tp->snd_ssthresh };
	struct decision d;
	struct ack ack;
	u32 floor = 0, detected = w.cwnd;

	if (!c) {
		cubictcp_cong_avoid(sk, una, acked);
		return;
	}
	fill_ack(&ack, sk, c, acked);
	if (!in_slow_start(tp)) {
		if (startup->beside_avoidance)
			floor = startup->beside_avoidance(c, &ack, acked, w.cwnd);
		cubictcp_cong_avoid(sk, una, acked);
		if (tp->snd_cwnd < floor)
			set_cwnd(tp, floor);
		return;
	}
	if (!startup->grow) {
		cubictcp_cong_avoid(sk, una, acked);
		if (!in_slow_start(tp))
			report(sk, c, startup->number, EXIT_THRESHOLD, detected, ack.inflight, tp->snd_ssthresh);
		return;
	}
	d = startup->grow(c, &ack, acked, &w);
	set_cwnd(tp, w.cwnd);
	if (apply(sk, c, startup->number, &d) || in_slow_start(tp))
		return;
	report(sk, c, startup->number, reached(startup, c), detected, ack.inflight, tp->snd_ssthresh);
	if (d.leftover)
		grow_by_leftover(sk, una, d.leftover);
}

/* A reduction starts; its cause is known when the state changes. */
INLINE u32 mode_a_ssthresh(const struct startup *startup, struct sock *sk, struct common *c)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;

	if (c) {
		c->detect_cwnd = tp->snd_cwnd;
		c->detect_inflight = pipe_of(tp);
		c->undo_reason = c->reason;
		c->can_undo = true;
		if (startup->on_congestion)
			startup->on_congestion(c);
	}
	return cubictcp_recalc_ssthresh(sk);
}

INLINE void mode_a_set_state(const struct startup *startup, struct sock *sk, struct common *c, u8 state)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;

	cubictcp_state(sk, state);
	if (!c || state < CA_CWR)
		return;
	if (state == CA_LOSS) {
		c->can_undo = false;
		if (startup->on_timeout)
			startup->on_timeout(c, tp->tcp_mstamp, tp->snd_nxt);
	}
	report(sk, c, startup->number, signal_reason(state), c->detect_cwnd, c->detect_inflight, 0);
}

INLINE u32 mode_a_undo_cwnd(const struct startup *startup, struct sock *sk, struct common *c)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;

	if (c && c->can_undo && tp->snd_cwnd < tp->prior_cwnd) {
		c->can_undo = false;
		if (startup->restore)
			startup->restore(c);
		if (c->reason != c->undo_reason)
			report(sk, c, startup->number, EXIT_UNDONE, tp->prior_cwnd, pipe_of(tp), 0);
	}
	return tcp_reno_undo_cwnd(sk);
}

INLINE void mode_a_tx_start(struct sock *sk, struct common *c)
{
	if (c)
		note_sent(sk, c);
}

INLINE void mode_a_cwnd_event(const struct startup *startup, struct sock *sk, struct common *c, u32 event)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;

	cubic_event(sk, event);
	if (event == CA_EVENT_TX_START)
		mode_a_tx_start(sk, c);
	if (c && startup->on_idle && event == CA_EVENT_CWND_RESTART)
		startup->on_idle(c, tp->tcp_mstamp, tp->snd_nxt);
}

/* The callbacks of one arm: `state` is the type of its state, `hooks` its startup, `kernel_name` at most 15 characters. */
#define MODE_A(arm, state, hooks, kernel_name)                                                                \
	STATE_OF_CONNECTIONS(arm, state)                                                                      \
	OPERATION void BPF_PROG(arm##_init, struct sock *sk)                                                  \
	{                                                                                                     \
		mode_a_init(&hooks, sk, new_state(arm, sk), sizeof(struct state));                                                \
		trace(sk, TRACE_BEGUN, -1, 0);                                                        \
	}                                                                                                     \
	OPERATION void BPF_PROG(arm##_pkts_acked, struct sock *sk, const struct ack_sample *sample)           \
	{                                                                                                     \
		trace(sk, TRACE_ACKED, sample->rtt_us, 0);                                            \
		mode_a_pkts_acked(&hooks, sk, state_of(arm, sk), sample);                                     \
	}                                                                                                     \
	OPERATION void BPF_PROG(arm##_cong_avoid, struct sock *sk, u32 una, u32 acked)                        \
	{                                                                                                     \
		mode_a_cong_avoid(&hooks, sk, state_of(arm, sk), una, acked);                                 \
	}                                                                                                     \
	OPERATION u32 BPF_PROG(arm##_ssthresh, struct sock *sk)                                               \
	{                                                                                                     \
		return mode_a_ssthresh(&hooks, sk, state_of(arm, sk));                                        \
	}                                                                                                     \
	OPERATION void BPF_PROG(arm##_set_state, struct sock *sk, u8 state)                                   \
	{                                                                                                     \
		mode_a_set_state(&hooks, sk, state_of(arm, sk), state);                                       \
		trace(sk, TRACE_STATE, -1, state);                                                    \
	}                                                                                                     \
	OPERATION u32 BPF_PROG(arm##_undo_cwnd, struct sock *sk)                                              \
	{                                                                                                     \
		return mode_a_undo_cwnd(&hooks, sk, state_of(arm, sk));                                       \
	}                                                                                                     \
	OPERATION void BPF_PROG(arm##_cwnd_event, struct sock *sk, u32 event)                                 \
	{                                                                                                     \
		mode_a_cwnd_event(&hooks, sk, state_of(arm, sk), event);                                      \
	}                                                                                                     \
	OPERATION void BPF_PROG(arm##_cwnd_event_tx_start, struct sock *sk)                                   \
	{                                                                                                     \
		cubic_tx_start(sk);                                                                           \
		mode_a_tx_start(sk, state_of(arm, sk));                                                       \
	}                                                                                                     \
	OPERATIONS(arm, kernel_name, .cong_avoid = (void *)arm##_cong_avoid, .pkts_acked = (void *)arm##_pkts_acked)

#endif
