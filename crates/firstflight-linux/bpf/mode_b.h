/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Mode B: recovery and pacing are ours, through cong_control; the kernel still says when an episode begins and ends. Congestion avoidance
 * is CUBIC's, through its functions.
 *
 * Departures:
 * K6 the kernel does not pace the first ten data packets of a connection.
 * K7 after an idle period the window is not lowered: the kernel leaves that to us and we leave it as it is.
 */
#ifndef FF_MODE_B_H
#define FF_MODE_B_H

#include "recovery.h"

/* CUBIC's factor, 717/1024. */
#define BETA_NUM 717
#define BETA_DEN 1024

enum phase { NO_EPISODE, POLICY, OWN, REPAIR };

/* What every arm of mode B keeps per connection, in front of its own; `c` first. */
struct sender {
	struct common c;
	struct episode e;
	u32 last_una;
	u32 entry_delivered; /* when the episode began: what was sent later knows at least as much */
	u8 phase;
	bool marks;	     /* the episode was opened by marks */
};

/* What a startup of mode B has beside its hooks. */
struct pacing_and_own {
	const struct startup *startup;
	const struct policy *policy;
	/* The kernel has set up the connection: may enlarge the first window. */
	void (*first_window)(void *state, struct sock *sk);
	/* Pacing gain in slow start, in quarters. */
	u32 (*gain_x4)(const void *state);
	/* A recovery of its own for this episode: whether it brings one. */
	bool (*own_enter)(void *state, u32 cwnd, u32 inflight_before);
	/* Charges one ACK of it; the window. */
	u32 (*own_account)(void *state, u32 acked, u32 lost, bool last);
};

#define GAIN_SLOW_START_X4 8 /* 2 */
#define GAIN_AVOIDANCE_X4 5  /* 1.25 */

INLINE void pace(const struct pacing_and_own *arm, struct sock *sk, struct sender *s)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	u32 gain_x4 = GAIN_AVOIDANCE_X4;
	u64 rate;

	if (s->phase == OWN)
		gain_x4 = GAIN_SLOW_START_X4;
	else if (s->phase == NO_EPISODE && in_slow_start(tp))
		gain_x4 = arm->gain_x4 ? arm->gain_x4(s) : GAIN_SLOW_START_X4;
	/* Before there is an RTT: 1 ms. Multiplied first, divided last; fits for windows to 2^24 packets of 9 kB. */
	rate = (u64)tp->snd_cwnd * tp->mss_cache * gain_x4 * 2000000 / (tp->srtt_us ? tp->srtt_us : 8000);
	sk->sk_pacing_rate = min64(max64(rate, 1), sk->sk_max_pacing_rate);
}

INLINE void mode_b_init(const struct pacing_and_own *arm, struct sock *sk, struct sender *s, u32 size)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct ack ack;

	cubictcp_init(sk);
	if (!s)
		return;
	__builtin_memset(s, 0, size);
	common_init(sk, &s->c);
	s->last_una = tp->snd_una;
	/* TCP's own timer paces, unless an fq qdisc does. */
	if (!sk->sk_pacing_status)
		sk->sk_pacing_status = 1;
	if (arm->startup->start)
		arm->startup->start(s, tp->tcp_mstamp, tp->snd_nxt);
	/* What the handshake measured is a sample like any other. */
	fill_ack(&ack, sk, &s->c, 0);
	ack.rtt_us = tp->srtt_us >> 3;
	if (arm->startup->on_rtt && tp->srtt_us)
		arm->startup->on_rtt(s, &ack);
	if (arm->first_window)
		arm->first_window(s, sk);
	pace(arm, sk, s);
}

/* An episode opens, with the ACK that reveals it. */
INLINE void mode_b_open(const struct pacing_and_own *arm, struct sock *sk, struct sender *s, const struct rate_sample *rs)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct entry entry = {
		.target = tp->snd_ssthresh,
		.flight = tp->packets_out,
		.sacked = tp->sacked_out,
		.delivered = rs->acked_sacked,
		.cwnd = s->c.detect_cwnd,
	};

	s->entry_delivered = tp->delivered;
	s->marks = CA_STATE(sk) == CA_CWR;
	if (arm->own_enter && arm->own_enter(s, s->c.detect_cwnd, rs->prior_in_flight)) {
		s->phase = OWN;
		return;
	}
	s->phase = POLICY;
	arm->policy->enter(&s->e, &entry);
}

/* One ACK of an open episode. */
INLINE void mode_b_progress(const struct pacing_and_own *arm, struct sock *sk, struct sender *s, const struct rate_sample *rs, bool opening)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct progress p = {
		.delivered = rs->acked_sacked,
		.newly_lost = rs->losses,
		.pipe = pipe_of(tp),
		.out = tp->prr_out,
		.advanced = tp->snd_una != s->last_una,
		.opening = opening,
		.marks = s->marks,
	};
	u32 cwnd;
	bool over;

	if (s->phase == POLICY) {
		arm->policy->on_ack(&s->e, &p);
		set_cwnd(tp, s->e.cwnd);
		return;
	}
	if (s->phase != OWN || !arm->own_account)
		return;
	/* RAPID 4.3-end: over when something sent after entry arrives; holes hold `una` back much longer. */
	over = !opening && rs->acked_sacked && rs->prior_mstamp && !before(rs->prior_delivered, s->entry_delivered);
	cwnd = arm->own_account(s, rs->acked_sacked, rs->losses, over);
	set_cwnd(tp, cwnd);
	tp->snd_ssthresh = tp->snd_cwnd;
	if (over) {
		/* RAPID 4.4: the path held cwnd / beta. */
		CUBIC_LAST_MAX(sk) = (u32)((u64)tp->snd_cwnd * 2 * BETA_DEN / BETA_NUM);
		s->phase = reducing(sk) ? REPAIR : NO_EPISODE;
	}
}

/* Above or below the threshold, outside recovery. */
INLINE void mode_b_grow(const struct pacing_and_own *arm, struct sock *sk, struct sender *s, const struct ack *ack)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct window w = { .cwnd = tp->snd_cwnd, .ssthresh = tp->snd_ssthresh };
	struct decision d;

	if (!in_slow_start(tp)) {
		cubictcp_cong_avoid(sk, ack->una, ack->acked);
		return;
	}
	d = arm->startup->grow(s, ack, ack->acked, &w);
	set_cwnd(tp, w.cwnd);
	if (apply(sk, &s->c, arm->startup->number, &d) || in_slow_start(tp))
		return;
	report(sk, &s->c, arm->startup->number, reached(arm->startup, s), tp->snd_cwnd, ack->inflight, tp->snd_ssthresh);
	if (d.leftover)
		cubictcp_cong_avoid(sk, ack->una, d.leftover);
}

/* Every ACK, after the kernel has looked for losses. */
INLINE void mode_b_control(const struct pacing_and_own *arm, struct sock *sk, struct sender *s, const struct rate_sample *rs)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	bool in_reduction = reducing(sk);
	struct ack ack;

	if (!s)
		return;
	/* When the ACK covers a repeat the sample is of whole milliseconds. */
	s->c.rtt_us = rs->is_retrans || rs->rtt_us < 0 ? NO_RTT : (u32)rs->rtt_us;
	count_round(sk, &s->c);
	fill_ack(&ack, sk, &s->c, rs->acked_sacked);
	ack.inflight_before = rs->prior_in_flight;
	if (arm->startup->on_rtt && ack.rtt_us != NO_RTT)
		arm->startup->on_rtt(s, &ack);
	if (s->phase == NO_EPISODE && in_reduction) {
		mode_b_open(arm, sk, s, rs);
		mode_b_progress(arm, sk, s, rs, true);
	} else if (s->phase == OWN || (s->phase == POLICY && in_reduction)) {
		mode_b_progress(arm, sk, s, rs, false);
	} else if (s->phase == POLICY) {
		set_cwnd(tp, arm->policy->end(&s->e, pipe_of(tp)));
		s->phase = NO_EPISODE;
	} else if (s->phase == REPAIR) {
		/* The window stands still until the last hole is repaired. */
		if (!in_reduction)
			s->phase = NO_EPISODE;
	} else if (rs->acked_sacked && tp->snd_una != s->last_una) {
		/* RFC5681 3.1-cumulative: SACKs alone grow no window, as where the kernel itself asks for growth. */
		mode_b_grow(arm, sk, s, &ack);
	}
	s->last_una = tp->snd_una;
	pace(arm, sk, s);
}

INLINE void mode_b_pkts_acked(struct sock *sk, const struct ack_sample *sample)
{
	cubic_acked(sk, sample);
}

INLINE u32 mode_b_ssthresh(const struct pacing_and_own *arm, struct sock *sk, struct sender *s)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;

	if (s) {
		s->c.detect_cwnd = tp->snd_cwnd;
		s->c.detect_inflight = pipe_of(tp);
		s->c.undo_reason = s->c.reason;
		s->c.can_undo = true;
	}
	return cubictcp_recalc_ssthresh(sk);
}

INLINE void mode_b_set_state(const struct pacing_and_own *arm, struct sock *sk, struct sender *s, u8 state)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;

	cubictcp_state(sk, state);
	if (!s || state < CA_CWR)
		return;
	if (state == CA_LOSS) {
		s->c.can_undo = false;
		s->phase = NO_EPISODE;
		if (arm->startup->on_timeout)
			arm->startup->on_timeout(s, tp->tcp_mstamp, tp->snd_nxt);
	}
	report(sk, &s->c, arm->startup->number, signal_reason(state), s->c.detect_cwnd, s->c.detect_inflight, 0);
}

INLINE u32 mode_b_undo_cwnd(const struct pacing_and_own *arm, struct sock *sk, struct sender *s)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;

	if (s) {
		s->phase = NO_EPISODE;
		if (s->c.can_undo && tp->snd_cwnd < tp->prior_cwnd) {
			s->c.can_undo = false;
			if (s->c.reason != s->c.undo_reason)
				report(sk, &s->c, arm->startup->number, EXIT_UNDONE, tp->prior_cwnd, pipe_of(tp), 0);
		}
	}
	return tcp_reno_undo_cwnd(sk);
}

INLINE void mode_b_tx_start(struct sock *sk, struct sender *s)
{
	if (s)
		note_sent(sk, &s->c);
}

/* The callbacks of one arm; see MODE_A. */
#define MODE_B(name, state, hooks, kernel_name)                                                               \
	STATE_OF_CONNECTIONS(name, state)                                                                     \
	OPERATION void BPF_PROG(name##_init, struct sock *sk)                                                 \
	{                                                                                                     \
		mode_b_init(&hooks, sk, new_state(name, sk), sizeof(struct state));                           \
		trace(sk, TRACE_BEGUN, -1, 0);                                                        \
	}                                                                                                     \
	CONTROL_OPERATION(name)                                                                               \
	{                                                                                                     \
		mode_b_control(&hooks, sk, state_of(name, sk), rs);                                           \
	}                                                                                                     \
	OPERATION void BPF_PROG(name##_pkts_acked, struct sock *sk, const struct ack_sample *sample)          \
	{                                                                                                     \
		trace(sk, TRACE_ACKED, sample->rtt_us, 0);                                            \
		mode_b_pkts_acked(sk, sample);                                                                \
	}                                                                                                     \
	OPERATION u32 BPF_PROG(name##_ssthresh, struct sock *sk)                                              \
	{                                                                                                     \
		return mode_b_ssthresh(&hooks, sk, state_of(name, sk));                                       \
	}                                                                                                     \
	OPERATION void BPF_PROG(name##_set_state, struct sock *sk, u8 state)                                  \
	{                                                                                                     \
		mode_b_set_state(&hooks, sk, state_of(name, sk), state);                                      \
		trace(sk, TRACE_STATE, -1, state);                                                    \
	}                                                                                                     \
	OPERATION u32 BPF_PROG(name##_undo_cwnd, struct sock *sk)                                             \
	{                                                                                                     \
		return mode_b_undo_cwnd(&hooks, sk, state_of(name, sk));                                      \
	}                                                                                                     \
	OPERATION void BPF_PROG(name##_cwnd_event, struct sock *sk, u32 event)                                \
	{                                                                                                     \
		cubic_event(sk, event);                                                                       \
		if (event == CA_EVENT_TX_START)                                                               \
			mode_b_tx_start(sk, state_of(name, sk));                                              \
	}                                                                                                     \
	OPERATION void BPF_PROG(name##_cwnd_event_tx_start, struct sock *sk)                                  \
	{                                                                                                     \
		cubic_tx_start(sk);                                                                           \
		mode_b_tx_start(sk, state_of(name, sk));                                                      \
	}                                                                                                     \
	OPERATIONS(name, kernel_name, .cong_control = (void *)name##_cong_control, .pkts_acked = (void *)name##_pkts_acked)

#endif
