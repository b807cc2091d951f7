/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Mode B: our code controls recovery and pacing through cong_control; the kernel still determines when an episode starts and ends.
 * Congestion avoidance is CUBIC's, through its functions.
 *
 * Departures:
 * K6 the kernel does not pace the first ten data packets of a connection.
 * K7 after an idle period the window is not lowered: the kernel leaves that to us, and we keep the window.
 */
#ifndef FF_MODE_B_H
#define FF_MODE_B_H

#include "recovery.h"

/* CUBIC's factor, 717/1024. */
#define BETA_NUM 717
#define BETA_DEN 1024

enum phase { NO_EPISODE, POLICY, OWN, REPAIR };

/* Whether a startup has its own recovery for an episode: Rapid Start's, or a constant window until it ends. */
enum own { OWN_NONE, OWN_RAPID, OWN_STANDING };

/* State of every arm of mode B per connection, placed before its own; `c` comes first. */
struct sender {
	struct common c;
	struct episode e;
	u64 last_ack_us;
	u32 last_una;
	u32 entry_delivered; /* at the start of the episode: packets sent later carry at least this count */
	u8 phase;
	u8 own;		     /* kind of recovery, in the phase OWN */
	bool sampled;	     /* the startup has processed this ACK */
	bool marks;	     /* marks opened the episode */
};

/* Additional hooks of a startup of mode B. */
struct pacing_and_own {
	const struct startup *startup;
	const struct policy *policy;
	/* After the kernel has set up the connection: may enlarge the first window. */
	void (*first_window)(void *state, struct sock *sk);
	/* Before sending: may enlarge the window; returns how many packets should leave back to back, if that matters. */
	u32 (*before_send)(void *state, struct sock *sk);
	/* Pacing gain in slow start, in 64ths. */
	u32 (*gain)(const void *state);
	/* This ACK, which reveals `lost` packets, opens an episode; the window was `cwnd`. */
	enum own (*own_enter)(void *state, const struct ack *ack, u32 cwnd, u32 lost);
	/* Accounts for an ACK of the episode; returns the window. */
	u32 (*own_account)(void *state, const struct ack *ack, u32 lost, bool last);
	/* The window in bytes, if it is not a whole number of packets. */
	u64 (*window_bytes)(const void *state, u32 cwnd, u32 mss);
	/* Whether this ACK ends the episode. If missing, the first delivered packet sent after entry ends it. */
	bool (*own_is_over)(const void *state, u32 una);
	/* The threshold on exit, up to which slow start continues. If missing: the window, since the path held it divided by beta. */
	u32 (*own_threshold)(const void *state);
	/* Below the threshold and outside recovery, after growth: the window for the packets that this ACK releases; `more`: the
	 * application has more data than the window allows. */
	u32 (*jump)(void *state, const struct ack *ack, const struct window *w, bool more);
	/* Outside recovery, after the kernel has detected losses and before the response to them. */
	struct decision (*look)(void *state, const struct ack *ack, const struct window *w);
	/* At the end of every ACK. */
	void (*observe)(void *state, const struct ack *ack, bool in_recovery);
	/* The connection is over. */
	void (*release)(void *state, struct sock *sk);
};

#define LEAST_BURST 2
#define GAIN_UNIT 64
#define GAIN_JUMP GAIN_UNIT
#define GAIN_AVOIDANCE (5 * GAIN_UNIT / 4)
#define GAIN_SLOW_START (2 * GAIN_UNIT)
#define GAIN_RAPID (3 * GAIN_UNIT)

INLINE void pace(const struct pacing_and_own *arm, struct sock *sk, struct sender *s)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	u64 amount = arm->window_bytes ? arm->window_bytes(s, tp->snd_cwnd, tp->mss_cache) : (u64)tp->snd_cwnd * tp->mss_cache, rate;
	/* Without an RTT sample: 1 ms. */
	u32 gain = GAIN_AVOIDANCE, srtt_x8 = tp->srtt_us ? tp->srtt_us : 8000;

	if (s->phase == OWN)
		gain = GAIN_SLOW_START;
	else if (s->phase == NO_EPISODE && in_slow_start(tp))
		gain = arm->gain ? arm->gain(s) : GAIN_SLOW_START;
	/* Multiplied by 8 000 000 us, divided by 64 and by the RTT, in two steps: a gain of 1000 would overflow otherwise. */
	amount *= gain;
	rate = amount / srtt_x8 * 125000 + amount % srtt_x8 * 125000 / srtt_x8;
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
	/* The handshake's measurement is an ordinary sample. */
	fill_ack(&ack, sk, &s->c, 0);
	ack.rtt_us = tp->srtt_us >> 3;
	if (arm->startup->on_rtt && tp->srtt_us)
		arm->startup->on_rtt(s, &ack);
	if (arm->first_window)
		arm->first_window(s, sk);
	pace(arm, sk, s);
}

/* Opens an episode on the ACK that reveals the loss. */
INLINE void mode_b_open(const struct pacing_and_own *arm, struct sock *sk, struct sender *s, const struct rate_sample *rs,
			const struct ack *ack)
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
	s->own = arm->own_enter ? arm->own_enter(s, ack, s->c.detect_cwnd, rs->losses) : OWN_NONE;
	if (s->own != OWN_NONE) {
		s->phase = OWN;
		return;
	}
	s->phase = POLICY;
	arm->policy->enter(&s->e, &entry);
}

/* Processes an ACK of an open episode. */
INLINE void mode_b_progress(const struct pacing_and_own *arm, struct sock *sk, struct sender *s, const struct rate_sample *rs,
			    const struct ack *ack, bool opening)
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
	/* RAPID 4.3-end: ends when a packet sent after entry is delivered; holes hold `una` back much longer. */
	over = !opening && (arm->own_is_over ? arm->own_is_over(s, tp->snd_una)
					     : rs->acked_sacked && rs->prior_mstamp && !before(rs->prior_delivered, s->entry_delivered));
	cwnd = arm->own_account(s, ack, rs->losses, over);
	set_cwnd(tp, cwnd);
	tp->snd_ssthresh = tp->snd_cwnd;
	if (over) {
		if (arm->own_threshold) {
			/* CR9959 curve-1: CUBIC's curve starts where slow start ends. */
			tp->snd_ssthresh = max32(arm->own_threshold(s), 2);
			CUBIC_LAST_MAX(sk) = 0;
		} else if (s->own == OWN_RAPID) {
			/* RAPID 4.4: the path held cwnd / beta. After a constant window, CUBIC keeps its state from the loss. */
			CUBIC_LAST_MAX(sk) = (u32)((u64)tp->snd_cwnd * 2 * BETA_DEN / BETA_NUM);
		}
		s->phase = reducing(sk) ? REPAIR : NO_EPISODE;
	}
}

/* Growth outside recovery, above or below the threshold. */
INLINE void mode_b_grow(const struct pacing_and_own *arm, struct sock *sk, struct sender *s, const struct ack *ack)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct window w = { .cwnd = tp->snd_cwnd, .ssthresh = tp->snd_ssthresh };
	u32 detected = tp->snd_cwnd;
	struct decision d;

	if (!in_slow_start(tp)) {
		cubictcp_cong_avoid(sk, ack->una, ack->acked);
		return;
	}
	d = arm->startup->grow(s, ack, ack->acked, &w);
	set_cwnd(tp, w.cwnd);
	if (apply(sk, &s->c, arm->startup->number, &d) || in_slow_start(tp))
		return;
	report(sk, &s->c, arm->startup->number, reached(arm->startup, s), detected, ack->inflight_before, tp->snd_ssthresh);
	if (d.leftover)
		grow_by_leftover(sk, ack->una, d.leftover);
}

/* Outside recovery, before the response to the losses of this ACK. */
INLINE void mode_b_look(const struct pacing_and_own *arm, struct sock *sk, struct sender *s, const struct ack *ack)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct window w = { .cwnd = tp->snd_cwnd, .ssthresh = tp->snd_ssthresh };
	struct decision d = arm->look(s, ack, &w);

	if (d.verdict == STAY || apply(sk, &s->c, arm->startup->number, &d) || in_slow_start(tp))
		return;
	report(sk, &s->c, arm->startup->number, reached(arm->startup, s), w.cwnd, ack->inflight_before, tp->snd_ssthresh);
}

/* Whether the application has written more than the window allows. */
INLINE bool has_more(const struct tcp_sock *tp)
{
	u32 used = pipe_of(tp), room = tp->snd_cwnd > used ? tp->snd_cwnd - used : 0;

	return (u64)(u32)(tp->write_seq - tp->snd_nxt) > (u64)room * tp->mss_cache;
}

/* Runs on every ACK, after the kernel has detected losses. */
INLINE void mode_b_control(const struct pacing_and_own *arm, struct sock *sk, struct sender *s, const struct rate_sample *rs)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	bool in_reduction = reducing(sk);
	struct ack ack;

	if (!s)
		return;
	/* If the ACK covers a retransmission, the sample is in whole milliseconds. */
	s->c.rtt_us = rs->is_retrans || rs->rtt_us < 0 ? NO_RTT : (u32)rs->rtt_us;
	count_round(sk, &s->c);
	fill_ack(&ack, sk, &s->c, rs->acked_sacked);
	ack.inflight_before = rs->prior_in_flight;
	ack.lost = rs->losses;
	ack.marked = s->phase == NO_EPISODE && CA_STATE(sk) == CA_CWR;
	if (arm->startup->on_rtt && ack.rtt_us != NO_RTT && !s->sampled)
		arm->startup->on_rtt(s, &ack);
	s->sampled = false;
	if (arm->look && s->phase == NO_EPISODE)
		mode_b_look(arm, sk, s, &ack);
	if (s->phase == NO_EPISODE && in_reduction) {
		mode_b_open(arm, sk, s, rs, &ack);
		mode_b_progress(arm, sk, s, rs, &ack, true);
	} else if (s->phase == OWN || (s->phase == POLICY && in_reduction)) {
		mode_b_progress(arm, sk, s, rs, &ack, false);
	} else if (!in_reduction) {
		/* LINUX ack-completing: the ACK that ends an episode also grows the window. After the startup's own recovery, the window is
		 * constant until the last hole is filled. */
		if (s->phase == POLICY)
			set_cwnd(tp, arm->policy->end(&s->e, pipe_of(tp)));
		s->phase = NO_EPISODE;
		/* RFC5681 3.1-cumulative: SACKs alone do not grow the window, as when the kernel itself requests growth. */
		if (rs->acked_sacked && tp->snd_una != s->last_una)
			mode_b_grow(arm, sk, s, &ack);
	}
	if (arm->jump && s->phase == NO_EPISODE && in_slow_start(tp)) {
		struct window w = { .cwnd = tp->snd_cwnd, .ssthresh = tp->snd_ssthresh };

		set_cwnd(tp, arm->jump(s, &ack, &w, has_more(tp)));
	}
	if (arm->observe)
		arm->observe(s, &ack, s->phase != NO_EPISODE);
	s->last_una = tp->snd_una;
	s->last_ack_us = tp->tcp_mstamp;
	pace(arm, sk, s);
}

/* Runs on every ACK, before the kernel detects losses: passes the sample to the startup. */
INLINE void mode_b_pkts_acked(const struct pacing_and_own *arm, struct sock *sk, struct sender *s, const struct ack_sample *sample)
{
	const struct startup *startup = arm->startup;
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct window w = { .cwnd = tp->snd_cwnd, .ssthresh = tp->snd_ssthresh };
	struct decision d;
	struct ack ack;

	cubic_acked(sk, sample);
	if (!s || !startup->sample)
		return;
	take_sample(sk, &s->c, sample);
	if (CA_STATE(sk) >= CA_CWR || s->phase != NO_EPISODE)
		return;
	/* A tail loss probe is also a retransmission. */
	if (tp->tlp_high_seq)
		s->c.rtt_us = NO_RTT;
	s->sampled = true;
	fill_ack(&ack, sk, &s->c, s->c.acked);
	if (startup->on_rtt && ack.rtt_us != NO_RTT)
		startup->on_rtt(s, &ack);
	if (!in_slow_start(tp))
		return;
	d = startup->sample(s, &ack, &w);
	if (d.verdict != STAY && !apply(sk, &s->c, startup->number, &d) && !in_slow_start(tp))
		report(sk, &s->c, startup->number, reached(startup, s), w.cwnd, ack.inflight, tp->snd_ssthresh);
}

INLINE u32 mode_b_ssthresh(const struct pacing_and_own *arm, struct sock *sk, struct sender *s)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;

	if (s) {
		s->c.detect_cwnd = tp->snd_cwnd;
		s->c.detect_inflight = pipe_of(tp);
		s->c.undo_reason = s->c.reason;
		s->c.can_undo = true;
		if (arm->startup->on_congestion)
			arm->startup->on_congestion(s);
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
		/* In an episode the window is the pipe plus what may be sent, which initially equals the old window. */
		bool smaller = s->phase != NO_EPISODE || tp->snd_cwnd < tp->prior_cwnd;

		s->phase = NO_EPISODE;
		if (s->c.can_undo && smaller) {
			s->c.can_undo = false;
			if (arm->startup->restore)
				arm->startup->restore(s);
			if (s->c.reason != s->c.undo_reason)
				report(sk, &s->c, arm->startup->number, EXIT_UNDONE, tp->prior_cwnd, pipe_of(tp), 0);
		}
	}
	return tcp_reno_undo_cwnd(sk);
}

/* Sending resumes with nothing in flight. */
INLINE void mode_b_tx_start(const struct pacing_and_own *arm, struct sock *sk, struct sender *s)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;

	if (!s)
		return;
	/* The kernel's formula for its timeout. */
	if (arm->startup->on_idle && s->c.sent && tp->tcp_mstamp - s->last_ack_us > max32(200000, (tp->srtt_us >> 3) + tp->rttvar_us))
		arm->startup->on_idle(s, tp->tcp_mstamp, tp->snd_nxt);
	note_sent(sk, &s->c);
}

/*
 * Called whenever the kernel is about to send, once for all packets of that occasion. Returns the minimum number of packets handed to the
 * device as one, whatever the pacing rate. The kernel's default is two.
 */
INLINE u32 mode_b_before_send(const struct pacing_and_own *arm, struct sock *sk, struct sender *s)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	u32 cwnd = tp->snd_cwnd, gain, burst;
	bool slow_start = in_slow_start(tp);

	if (!s)
		return LEAST_BURST;
	gain = arm->gain(s);
	burst = arm->before_send(s, sk);
	if (slow_start && !in_slow_start(tp))
		report(sk, &s->c, arm->startup->number, reached(arm->startup, s), cwnd, pipe_of(tp), tp->snd_ssthresh);
	if (tp->snd_cwnd != cwnd || arm->gain(s) != gain)
		pace(arm, sk, s);
	return max32(burst, LEAST_BURST);
}

/* The callbacks of one arm; see MODE_A. */
#define MODE_B(name, state, hooks, kernel_name)                                                               \
	STATE_OF_CONNECTIONS(name, state)                                                                     \
	MODE_B_CALLBACKS(name, state, hooks, kernel_name, )

/* Like MODE_B, for an arm with a hook before sending. */
#define MODE_B_TRAINS(name, state, hooks, kernel_name)                                                        \
	STATE_OF_CONNECTIONS(name, state)                                                                     \
	OPERATION u32 BPF_PROG(name##_min_tso_segs, struct sock *sk)                                          \
	{                                                                                                     \
		return mode_b_before_send(&hooks, sk, state_of(name, sk));                                    \
	}                                                                                                     \
	MODE_B_CALLBACKS(name, state, hooks, kernel_name, .min_tso_segs = (void *)name##_min_tso_segs)

/* The same, for an arm that saves parameters when its connection ends. */
#define MODE_B_SAVES(name, state, hooks, kernel_name)                                                         \
	STATE_OF_CONNECTIONS(name, state)                                                                     \
	OPERATION void BPF_PROG(name##_release, struct sock *sk)                                              \
	{                                                                                                     \
		void *s = state_of(name, sk);                                                                 \
													      \
		if (s)                                                                                        \
			hooks.release(s, sk);                                                                 \
	}                                                                                                     \
	MODE_B_CALLBACKS(name, state, hooks, kernel_name, .release = (void *)name##_release)

#define MODE_B_CALLBACKS(name, state, hooks, kernel_name, ...)                                                \
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
		mode_b_pkts_acked(&hooks, sk, hooks.startup->sample ? state_of(name, sk) : NULL, sample);     \
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
			mode_b_tx_start(&hooks, sk, state_of(name, sk));                                              \
	}                                                                                                     \
	OPERATION void BPF_PROG(name##_cwnd_event_tx_start, struct sock *sk)                                  \
	{                                                                                                     \
		cubic_tx_start(sk);                                                                           \
		mode_b_tx_start(&hooks, sk, state_of(name, sk));                                                      \
	}                                                                                                     \
	OPERATIONS(name, kernel_name, .cong_control = (void *)name##_cong_control, .pkts_acked = (void *)name##_pkts_acked, \
		   __VA_ARGS__)

#endif
