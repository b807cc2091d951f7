/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Careful Resume: once the first round trip is fully acknowledged, a connection to a destination measured by an earlier connection jumps
 * to half of the window that the earlier one carried, paced over one round trip, and retreats if the jump was too large.
 *
 * Follows: RFC 9959, as the core's startup/careful.rs, recovery/careful_retreat.rs and resume.rs do. Saved parameters are kept in a map by
 * destination (IPv6: by /64) for an hour and used by one connection at a time, as in the core's servers. Departures: those of the core, K6
 * of mode_b.h, and
 * K16 the jump happens on an ACK: data that the application writes after the last ACK waits for the next one.
 * K17 a pause longer than a timeout ends the reconnaissance when sending resumes, and only if nothing was in flight.
 */
#ifndef FF_CAREFUL_H
#define FF_CAREFUL_H

#include "mode_b.h"

enum careful_state { CAREFUL_NORMAL, CAREFUL_RECON, CAREFUL_UNVALIDATED, CAREFUL_VALIDATING, CAREFUL_QUIET };

#define NO_MIN (~0u)
/* CR9959 observe-least: four initial windows are reached as quickly without a jump. */
#define LEAST_INITIAL_WINDOWS 4

/* Parameters saved for the next connection: packets and microseconds. */
struct saved_set {
	u32 cwnd;
	u32 rtt_us;
	u64 learnt_us;
	u64 user; /* the socket that uses it; 0: none */
};

struct careful {
	struct sender s;
	u64 since_us;	/* when the jump began */
	u32 saved_cwnd, saved_rtt_us; /* 0: nothing is saved for this destination */
	u32 recon_min_us; /* before the jump */
	u32 min_us;	/* of the connection */
	u32 first_end;	/* end of the data of the first round trip */
	u32 end;	/* of the jump */
	u32 nxt;	/* as of the ACK in hand */
	u32 pipe;	/* PipeSize */
	u32 before;	/* in flight at the jump and not yet acknowledged or lost */
	u32 retreat;	/* the window of the retreat */
	u32 round_end, round_acked, best; /* packets delivered per round trip since startup ended */
	u8 state;
	bool has_first_end, checked, refuted, opening, used, counting;
};

#ifndef FF_NATIVE
/* The whole IPv4 address, or the IPv6 /64, within which a host changes its address. */
struct destination {
	u64 prefix;
	u32 v4;
	u32 family;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 10000);
	__type(key, struct destination);
	__type(value, struct saved_set);
} careful_sets SEC(".maps");

#define SAVED_LIFETIME_US 3600000000ull
#define AF_INET6 10

INLINE struct destination destination_of(const struct sock *sk)
{
	struct destination d = { .family = sk->__sk_common.skc_family };

	if (d.family == AF_INET6)
		d.prefix = (u64)sk->__sk_common.skc_v6_daddr.in6_u.u6_addr32[0] << 32 | sk->__sk_common.skc_v6_daddr.in6_u.u6_addr32[1];
	else
		d.v4 = sk->__sk_common.skc_daddr;
	return d;
}

/* The saved parameters of this destination, if they are fresh and no other connection uses them. */
INLINE bool take_saved(struct sock *sk, u32 *cwnd, u32 *rtt_us)
{
	struct destination d = destination_of(sk);
	struct saved_set *set = bpf_map_lookup_elem(&careful_sets, &d);

	if (!set || set->user)
		return false;
	if (((struct tcp_sock *)sk)->tcp_mstamp - set->learnt_us > SAVED_LIFETIME_US) {
		bpf_map_delete_elem(&careful_sets, &d);
		return false;
	}
	set->user = (u64)(unsigned long)sk;
	*cwnd = set->cwnd;
	*rtt_us = set->rtt_us;
	return true;
}

/* Saves the parameters of a finished connection; `cwnd` 0: none. A lower bound below the saved value is ignored. */
INLINE void give_back(struct sock *sk, bool used, bool refuted, u32 cwnd, u32 rtt_us, bool at_least)
{
	struct destination d = destination_of(sk);
	struct saved_set *known = bpf_map_lookup_elem(&careful_sets, &d);
	struct saved_set set = { .cwnd = cwnd, .rtt_us = rtt_us, .learnt_us = ((struct tcp_sock *)sk)->tcp_mstamp };

	if (known && used && known->user == (u64)(unsigned long)sk) {
		/* CR9959 retreat-forget. */
		if (refuted) {
			bpf_map_delete_elem(&careful_sets, &d);
			known = NULL;
		} else {
			known->user = 0;
		}
	}
	if (!cwnd || (known && at_least && cwnd < known->cwnd))
		return;
	if (known)
		set.user = known->user;
	bpf_map_update_elem(&careful_sets, &d, &set, 0);
}
#endif

INLINE void careful_start(void *state, u64 now_us, u32 nxt)
{
	struct careful *c = state;

	c->state = CAREFUL_RECON;
	c->recon_min_us = NO_MIN;
	c->min_us = NO_MIN;
}

INLINE void careful_on_rtt(void *state, const struct ack *ack)
{
	struct careful *c = state;

	c->min_us = min32(c->min_us, ack->rtt_us);
}

/* Loads the saved parameters when the connection is established. */
INLINE void careful_look_up(void *state, struct sock *sk)
{
	struct careful *c = state;

	c->used = take_saved(sk, &c->saved_cwnd, &c->saved_rtt_us);
}

/* CR9959 recon-rtt: more than half of the saved RTT and at most ten times it. */
INLINE bool careful_same_path(const struct careful *c)
{
	u64 min = c->recon_min_us, saved = c->saved_rtt_us;

	return !saved || (2 * min > saved && min <= 10 * saved);
}

INLINE void careful_count(struct careful *c, const struct ack *ack)
{
	u32 old = min32(ack->acked, c->before);

	c->before -= old;
	c->before -= min32(c->before, ack->lost);
	/* CR9959 pipe-1: delivered packets, including marked ones. */
	c->pipe += ack->acked - old;
}

INLINE struct decision hold(u32 cwnd)
{
	struct decision d = { .verdict = HOLD, .cwnd = cwnd };

	return d;
}

/* CR9959 check-1: the flight must exceed the capacity already proven. */
INLINE struct decision careful_check(struct careful *c, const struct ack *ack, const struct window *w)
{
	u32 flight = ack->inflight_before, iw = c->s.c.initial_cwnd;

	c->checked = true;
	if (flight < iw || flight <= c->pipe) {
		c->state = CAREFUL_NORMAL;
		return hold(min32(max32(c->pipe, iw), w->cwnd));
	}
	c->state = CAREFUL_VALIDATING;
	c->end = ack->nxt;
	return hold(min32(flight, w->cwnd));
}

INLINE struct decision careful_unvalidated(struct careful *c, const struct ack *ack, const struct window *w)
{
	u32 proven = c->pipe, had = c->before;
	bool full, late;

	careful_count(c, ack);
	if (ack->lost || ack->marked)
		return stay(0);
	/* CR9959 path-changed: an RTT of at most half the saved RTT indicates another path. */
	if (ack->rtt_us != NO_RTT && c->saved_rtt_us && 2 * (u64)ack->rtt_us <= c->saved_rtt_us) {
		c->state = CAREFUL_QUIET;
		c->end = ack->nxt;
		c->refuted = true;
		return hold(max32(c->pipe / 2, 2));
	}
	late = ack->srtt_x8_us && 8 * (ack->now_us - c->since_us) > ack->srtt_x8_us;
	full = ack->inflight_before + 1 > w->cwnd;
	if (c->pipe > proven || (!had && ack->acked) || late || full)
		return careful_check(c, ack, w);
	return stay(0);
}

INLINE struct decision careful_look(void *state, const struct ack *ack, const struct window *w)
{
	struct careful *c = state;
	struct decision d;

	c->checked = false;
	c->nxt = ack->nxt;
	switch (c->state) {
	case CAREFUL_RECON:
		if (ack->rtt_us != NO_RTT) {
			c->recon_min_us = min32(c->recon_min_us, ack->rtt_us);
			if (!c->has_first_end)
				c->first_end = ack->nxt;
			c->has_first_end = true;
		}
		/* CR9959 recon-congestion. */
		if (ack->lost || ack->marked)
			c->state = CAREFUL_NORMAL;
		return stay(0);
	case CAREFUL_UNVALIDATED:
		return careful_unvalidated(c, ack, w);
	case CAREFUL_VALIDATING:
		careful_count(c, ack);
		/* CR9959 validating-end. */
		if (!before(ack->una, c->end) && !ack->lost && !ack->marked)
			c->state = CAREFUL_NORMAL;
		return stay(0);
	case CAREFUL_QUIET:
		c->pipe += ack->acked;
		if (before(ack->una, c->end))
			return stay(0);
		c->state = CAREFUL_NORMAL;
		d = stay(0);
		d.verdict = AIM;
		d.ssthresh = c->pipe / 2;
		return d;
	}
	return stay(0);
}

INLINE struct decision careful_grow(void *state, const struct ack *ack, u32 acked, struct window *w)
{
	struct careful *c = state;
	/* CR9959 unvalidated-still, and CR9959 validating-growth: only packets of the jump count. */
	bool still = c->state == CAREFUL_UNVALIDATED || c->state == CAREFUL_QUIET || c->checked;

	if (still || (c->state == CAREFUL_VALIDATING && !(ack->acked && !c->before)))
		return stay(0);
	return stay(double_window(ack, acked, w));
}

/* Takes the jump, if any, after an ACK and before the transmissions that it permits. */
INLINE u32 careful_jump(void *state, const struct ack *ack, const struct window *w, bool more)
{
	struct careful *c = state;
	u32 jump = min32(min32(c->saved_cwnd / 2, MAX_CWND), w->ssthresh);

	/* CR9959 recon-data: the first round trip is fully acknowledged. */
	if (c->state != CAREFUL_RECON || !c->has_first_end || before(ack->una, c->first_end) || !more || !ack->srtt_x8_us)
		return w->cwnd;
	if (jump <= w->cwnd || !careful_same_path(c)) {
		c->state = CAREFUL_NORMAL;
		return w->cwnd;
	}
	/* CR9959 unvalidated-entry. */
	c->pipe = ack->inflight;
	c->before = ack->inflight;
	c->since_us = ack->now_us;
	c->state = CAREFUL_UNVALIDATED;
	return jump;
}

INLINE void careful_on_timeout(void *state, u64 now_us, u32 nxt)
{
	struct careful *c = state;

	c->state = CAREFUL_NORMAL;
	c->counting = false;
}

/* K17: sending resumes after a pause of this length. */
INLINE void careful_on_idle(void *state, u64 now_us, u32 nxt)
{
	careful_on_timeout(state, now_us, nxt);
}

/* CR9959 unvalidated-pacing: paces the jump over one round trip. */
INLINE u32 careful_gain(const void *state)
{
	return ((const struct careful *)state)->state == CAREFUL_UNVALIDATED ? GAIN_JUMP : GAIN_SLOW_START;
}

/* CR9959 retreat-1: loss or marks before the jump is validated. */
INLINE enum own careful_own_enter(void *state, const struct ack *ack, u32 cwnd, u32 lost)
{
	struct careful *c = state;
	u8 was = c->state;

	c->state = CAREFUL_NORMAL;
	if (was != CAREFUL_UNVALIDATED && was != CAREFUL_VALIDATING)
		return OWN_NONE;
	if (was == CAREFUL_UNVALIDATED)
		c->end = c->nxt;
	c->refuted = true;
	/* CR9959 retreat-window: half of PipeSize, kept constant. */
	c->retreat = max32(c->pipe / 2, 2);
	c->opening = true;
	return OWN_STANDING;
}

INLINE u32 careful_own_account(void *state, const struct ack *ack, u32 lost, bool last)
{
	struct careful *c = state;

	/* CR9959 retreat-pipe: the ACK that opens the retreat is already counted. */
	if (!c->opening)
		c->pipe += ack->acked;
	c->opening = false;
	return c->retreat;
}

INLINE bool careful_own_is_over(const void *state, u32 una)
{
	const struct careful *c = state;

	return !before(una, c->end);
}

/* CR9959 retreat-exit: Beta times PipeSize. */
INLINE u32 careful_own_threshold(const void *state)
{
	const struct careful *c = state;

	return max32(c->pipe / 2, c->retreat);
}

/* Measures the packets delivered per round trip, except in an overshot startup window or an unvalidated jump. */
INLINE void careful_observe(void *state, const struct ack *ack, bool in_recovery)
{
	struct careful *c = state;
	bool underway = c->saved_cwnd && c->state != CAREFUL_NORMAL && !c->refuted;

	if (c->s.c.reason == EXIT_NONE || in_recovery || underway) {
		c->counting = false;
		return;
	}
	if (c->counting) {
		c->round_acked += ack->acked;
		if (before(ack->una, c->round_end))
			return;
		/* CR9959 observe-1. */
		c->best = max32(c->best, c->round_acked);
	}
	c->counting = true;
	c->round_end = ack->nxt;
	c->round_acked = 0;
}

/* The window to save in packets, 0 for none, and whether the path may carry more. */
INLINE u32 careful_learnt(const struct careful *c, u32 cwnd, bool *at_least)
{
	bool underway = c->saved_cwnd && c->state != CAREFUL_NORMAL && !c->refuted;
	/* CR9959 observe-startup: in slow start the path has carried half of the window. */
	u32 learnt = c->best ? c->best : cwnd / 2;

	*at_least = !c->best && c->s.c.reason == EXIT_NONE;
	return underway || c->min_us == NO_MIN ? 0 : learnt;
}

INLINE void careful_leave(void *state, struct sock *sk)
{
	const struct careful *c = state;
	bool at_least;
	u32 learnt = careful_learnt(c, ((struct tcp_sock *)sk)->snd_cwnd, &at_least);

	if (learnt < LEAST_INITIAL_WINDOWS * c->s.c.initial_cwnd)
		learnt = 0;
	give_back(sk, c->used, c->refuted, learnt, c->min_us, at_least);
}

static const struct startup careful_hooks = {
	.number = ARM_CAREFUL,
	.start = careful_start,
	.on_rtt = careful_on_rtt,
	.grow = careful_grow,
	.on_timeout = careful_on_timeout,
	.on_idle = careful_on_idle,
};

static const struct pacing_and_own careful_arm = {
	.startup = &careful_hooks,
	.policy = &prr,
	.first_window = careful_look_up,
	.gain = careful_gain,
	.own_enter = careful_own_enter,
	.own_account = careful_own_account,
	.own_is_over = careful_own_is_over,
	.own_threshold = careful_own_threshold,
	.look = careful_look,
	.jump = careful_jump,
	.observe = careful_observe,
	.release = careful_leave,
};
#endif
