/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Rapid Start: a first window of twice the initial window, spread over a whole round trip; threefold growth until a queue appears, then
 * twofold; and its own recovery, which lands at beta times the data that the path delivered.
 *
 * Follows: draft-kazuho-ccwg-rapid-start-02 (2026-03-16), as the core's startup/rapid_start.rs, jump.rs, signal/rtt_floor.rs and
 * recovery/rapid_recovery.rs do. Departures: those of the core, K6 of mode_b.h, and
 * K8 the jump happens when the connection is established, if the handshake yielded an RTT sample; otherwise there is none.
 */
#ifndef FF_RAPID_START_H
#define FF_RAPID_START_H

#include "rapid_recovery.h"
#include "rtt_floor.h"

#define RAPID_JUMP 2 /* initial windows */

enum jump { JUMP_DONE, JUMP_FLYING, JUMP_VALIDATING };

struct rapid {
	struct sender s;
	struct rtt_floor floor;
	struct rapid_recovery own;
	u32 jump_mark;	 /* the jump's start, later its end */
	u8 jump;
	bool probing;
	bool jumps;
};

INLINE void rapid_start(void *state, u64 now_us, u32 nxt)
{
	struct rapid *r = state;

	rtt_floor_start(&r->floor, now_us * 1000);
	r->probing = true;
}

INLINE void rapid_on_rtt(void *state, const struct ack *ack)
{
	rtt_floor_on_rtt(&((struct rapid *)state)->floor, ack);
}

/* RAPID 4.2-2: no queue is visible. Unknown counts as a queue. */
INLINE bool rapid_no_queue(const struct rapid *r)
{
	u64 floor = rtt_floor_ns(&r->floor);

	return floor != NO_SAMPLE && floor <= rtt_floor_threshold(r->floor.min_ns);
}

INLINE void rapid_first_window(void *state, struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct rapid *r = state;

	/* RAPID 4.1-1: only with an RTT sample, and before any data was sent. */
	if (!r->jumps || !tp->srtt_us || tp->bytes_acked > 1)
		return;
	set_cwnd(tp, RAPID_JUMP * r->s.c.initial_cwnd);
	r->jump = JUMP_FLYING;
	r->jump_mark = tp->snd_nxt;
}

/* RAPID 4.1-3: the first ACK of the jump reduces the window to the part that was used. */
INLINE void rapid_land(struct rapid *r, const struct ack *ack, struct window *w)
{
	u32 iw = r->s.c.initial_cwnd, target = RAPID_JUMP * iw;

	if (r->jump == JUMP_FLYING && before(r->jump_mark, ack->una)) {
		w->cwnd = min32(max32(ack->inflight_before, min32(iw, target)), target);
		w->cwnd = max32(min32(w->cwnd, w->ssthresh), 2);
		r->jump = JUMP_VALIDATING;
		r->jump_mark = ack->nxt;
	} else if (r->jump == JUMP_VALIDATING && !before(ack->una, r->jump_mark)) {
		r->jump = JUMP_DONE;
	}
}

INLINE struct decision rapid_grow(void *state, const struct ack *ack, u32 acked, struct window *w)
{
	struct rapid *r = state;
	bool twice;

	if (!r->probing)
		return stay(double_window(ack, acked, w));
	rapid_land(r, ack, w);
	if (!ack->limited)
		return stay(0);
	/* RAPID 4.2-1: two packets per acknowledged packet while no queue is visible, one afterwards. */
	twice = rapid_no_queue(r);
	return stay(min32(open_window(w, twice ? 2 * acked : acked), acked));
}

INLINE void rapid_on_timeout(void *state, u64 now_us, u32 nxt)
{
	struct rapid *r = state;

	r->jump = JUMP_DONE;
	r->probing = false;
}

INLINE u32 rapid_gain(const void *state)
{
	const struct rapid *r = state;

	if (r->jump == JUMP_FLYING)
		return GAIN_JUMP;
	return r->probing && rapid_no_queue(r) ? GAIN_RAPID : GAIN_SLOW_START;
}

/* RAPID 4.3-1: only for the first congestion signal while probing. */
INLINE enum own rapid_own_enter(void *state, const struct ack *ack, u32 cwnd, u32 lost)
{
	struct rapid *r = state;

	r->jump = JUMP_DONE;
	if (!r->probing)
		return OWN_NONE;
	r->probing = false;
	rapid_recovery_enter(&r->own, min32(cwnd, ack->inflight_before), r->s.c.initial_cwnd, 1);
	return OWN_RAPID;
}

INLINE u32 rapid_own_account(void *state, const struct ack *ack, u32 lost, bool last)
{
	return (u32)rapid_recovery_account(&((struct rapid *)state)->own, ack->acked, lost, last);
}

INLINE void rapid_start_with_jump(void *state, u64 now_us, u32 nxt)
{
	rapid_start(state, now_us, nxt);
	((struct rapid *)state)->jumps = true;
}

static const struct startup rapid_hooks = {
	.number = ARM_RAPID,
	.start = rapid_start_with_jump,
	.on_rtt = rapid_on_rtt,
	.grow = rapid_grow,
	.on_timeout = rapid_on_timeout,
};

static const struct startup rapid_nojump_hooks = {
	.number = ARM_RAPID_NOJUMP,
	.start = rapid_start,
	.on_rtt = rapid_on_rtt,
	.grow = rapid_grow,
	.on_timeout = rapid_on_timeout,
};

static const struct pacing_and_own rapid_arm = {
	.startup = &rapid_hooks,
	.policy = &prr,
	.first_window = rapid_first_window,
	.gain = rapid_gain,
	.own_enter = rapid_own_enter,
	.own_account = rapid_own_account,
};

static const struct pacing_and_own rapid_nojump_arm = {
	.startup = &rapid_nojump_hooks,
	.policy = &prr,
	.first_window = rapid_first_window,
	.gain = rapid_gain,
	.own_enter = rapid_own_enter,
	.own_account = rapid_own_account,
};
#endif
