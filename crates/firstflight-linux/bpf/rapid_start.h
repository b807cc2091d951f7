/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Rapid Start: a first window of twice the initial one spread over a whole round trip, growth by three until a queue shows, then by two,
 * and a recovery of its own that lands on beta times what the path delivered.
 *
 * Follows: draft-kazuho-ccwg-rapid-start-02 (2026-03-16), as the core's startup/rapid_start.rs, jump.rs, signal/rtt_floor.rs and
 * recovery/rapid_recovery.rs do. Departures: those of the core, K6 of mode_b.h, and
 * K8 the jump is taken when the connection is established and its handshake gave an RTT, or never.
 */
#ifndef FF_RAPID_START_H
#define FF_RAPID_START_H

#include "mode_b.h"

#define RAPID_JUMP 2 /* initial windows */
#define FLOOR_SLOTS 4
#define NO_SAMPLE (~0ull)
/* K = 2/3 of the reduction is paid by acknowledged packets. Over the denominator 3 * BETA_DEN: a = K(1-beta), s = l = beta + a. */
#define RAPID_A (2 * (BETA_DEN - BETA_NUM))
#define RAPID_S (3 * BETA_NUM + RAPID_A)
#define RAPID_UNIT (3 * BETA_DEN)

enum jump { JUMP_DONE, JUMP_FLYING, JUMP_VALIDATING };

struct rapid {
	struct sender s;
	u64 min_rtt_ns; /* of the connection; NO_SAMPLE: none */
	u64 slots_ns[FLOOR_SLOTS]; /* the smallest RTT of each quarter of a round trip, the newest first */
	u64 slot_start_ns;
	u64 acked, lost; /* in the recovery of its own */
	u32 pre, floor, cwnd;
	u32 jump_mark;	 /* where the jump began, then where it ends */
	u8 jump;
	bool probing;
	bool jumps;
};

INLINE void rapid_empty(struct rapid *r, u64 now_ns)
{
	u32 i;

	for (i = 0; i < FLOOR_SLOTS; i++)
		r->slots_ns[i] = NO_SAMPLE;
	r->slot_start_ns = now_ns;
}

INLINE void rapid_start(void *state, u64 now_us, u32 nxt)
{
	struct rapid *r = state;

	r->min_rtt_ns = NO_SAMPLE;
	rapid_empty(r, now_us * 1000);
	r->probing = true;
}

INLINE void rapid_shift(struct rapid *r)
{
	r->slots_ns[3] = r->slots_ns[2];
	r->slots_ns[2] = r->slots_ns[1];
	r->slots_ns[1] = r->slots_ns[0];
	r->slots_ns[0] = NO_SAMPLE;
}

INLINE void rapid_on_rtt(void *state, const struct ack *ack)
{
	struct rapid *r = state;
	u64 rtt_ns = (u64)ack->rtt_us * 1000, now_ns = ack->now_us * 1000, slot, behind;

	r->min_rtt_ns = min64(r->min_rtt_ns, rtt_ns);
	slot = max64(r->min_rtt_ns / FLOOR_SLOTS, 1);
	behind = (now_ns - r->slot_start_ns) / slot;
	if (behind >= FLOOR_SLOTS) {
		rapid_empty(r, now_ns);
	} else {
		if (behind > 0)
			rapid_shift(r);
		if (behind > 1)
			rapid_shift(r);
		if (behind > 2)
			rapid_shift(r);
		r->slot_start_ns += slot * behind;
	}
	r->slots_ns[0] = min64(r->slots_ns[0], rtt_ns);
}

/* RAPID 4.2-2: no queue shows. Unknown counts as a queue. */
INLINE bool rapid_no_queue(const struct rapid *r)
{
	u64 floor = min64(min64(r->slots_ns[0], r->slots_ns[1]), min64(r->slots_ns[2], r->slots_ns[3]));

	if (floor == NO_SAMPLE)
		return false;
	return floor <= min64(r->min_rtt_ns + 4000000, r->min_rtt_ns * 11 / 10);
}

INLINE void rapid_first_window(void *state, struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct rapid *r = state;

	/* RAPID 4.1-1: only with an RTT to spread over, and before anything was sent. */
	if (!r->jumps || !tp->srtt_us || tp->bytes_acked > 1)
		return;
	set_cwnd(tp, RAPID_JUMP * r->s.c.initial_cwnd);
	r->jump = JUMP_FLYING;
	r->jump_mark = tp->snd_nxt;
}

/* RAPID 4.1-3: the first ACK of the jump keeps what was used of it. */
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
	/* RAPID 4.2-1: two packets per packet acknowledged while no queue shows, one afterwards. */
	twice = rapid_no_queue(r);
	return stay(min32(open_window(w, twice ? 2 * acked : acked), acked));
}

INLINE void rapid_on_timeout(void *state, u64 now_us, u32 nxt)
{
	struct rapid *r = state;

	r->jump = JUMP_DONE;
	r->probing = false;
}

/* Quarters: 1 while the jump is spread, 3 while no queue shows, 2 otherwise. */
INLINE u32 rapid_gain_x4(const void *state)
{
	const struct rapid *r = state;

	if (r->jump == JUMP_FLYING)
		return 4;
	return r->probing && rapid_no_queue(r) ? 12 : GAIN_SLOW_START_X4;
}

/* RAPID 4.3-1: the first congestion signal while probing, and never again. */
INLINE bool rapid_own_enter(void *state, u32 cwnd, u32 inflight_before)
{
	struct rapid *r = state;
	u32 beta_pre;

	r->jump = JUMP_DONE;
	if (!r->probing)
		return false;
	r->probing = false;
	r->pre = max32(min32(cwnd, inflight_before), 2);
	r->cwnd = r->pre;
	r->acked = 0;
	r->lost = 0;
	/* RAPID 4.3-floor: a third of beta times the entry window, and beta times the initial window. */
	beta_pre = (u32)((u64)r->pre * BETA_NUM / BETA_DEN);
	r->floor = (u32)((u64)min32(r->s.c.initial_cwnd, r->pre) * BETA_NUM / BETA_DEN);
	r->floor = max32(max32(r->floor, beta_pre / 3), 2);
	return true;
}

/* RAPID 4.3: s * pre - a * acked - l * lost, from totals, never up and never below the floor. */
INLINE u32 rapid_own_account(void *state, u32 acked, u32 lost, bool last)
{
	struct rapid *r = state;
	u64 all, gone = (u64)r->acked + r->lost + lost;

	/* RAPID 4.3.1: the ACK that ends it pays for what is open of the flight at entry, not for what was sent since. */
	if (last)
		acked = min32(acked, r->pre > gone ? (u32)(r->pre - gone) : 0);
	r->acked += acked;
	r->lost += lost;
	all = (u64)RAPID_S * r->pre;
	gone = RAPID_A * r->acked + RAPID_S * r->lost;
	r->cwnd = min32(r->cwnd, max32(all > gone ? (u32)((all - gone) / RAPID_UNIT) : 0, r->floor));
	return r->cwnd;
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
	.gain_x4 = rapid_gain_x4,
	.own_enter = rapid_own_enter,
	.own_account = rapid_own_account,
};

static const struct pacing_and_own rapid_nojump_arm = {
	.startup = &rapid_nojump_hooks,
	.policy = &prr,
	.first_window = rapid_first_window,
	.gain_x4 = rapid_gain_x4,
	.own_enter = rapid_own_enter,
	.own_account = rapid_own_account,
};
#endif
