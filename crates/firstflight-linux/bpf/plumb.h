/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Plumb: the first flight leaves as short trains whose ACKs sound the path. Growth is fast towards a sounded depth, threefold while no depth
 * is known, and slow once the depth is reached. A queue is drained and observed again before it ends startup.
 *
 * Follows: our own design, as in the core's startup/plumb.rs with its defaults. Departures: those of the core, K12 of sounding.h, and
 * K13 the first train has ten packets, because the kernel does not pace the first ten of a connection (K6): ten, four, four and two packets
 * leave at 0, 1/2, 7/10 and 9/10 of the RTT. A train is one segment that the device splits, and the pacing rate is the mean rate of the
 * flight.
 * K14 no loss is excused: there is no `plumb-tolerant`.
 */
#ifndef FF_PLUMB_H
#define FF_PLUMB_H

#include "bunches.h"
#include "drain_and_look.h"
#include "plumb_growth.h"
#include "rapid_recovery.h"
#include "rtt_floor.h"

#define PLUMB_VOLUME 2 /* initial windows */
#define PLUMB_TRAIN 4  /* packets */
#define PLUMB_UNPACED 10 /* packets that the kernel does not pace */
#define PLUMB_STRIKES 3
#define PLUMB_LEAST_RISE_NS 500000
#define PLUMB_POLICED 8 /* packets */
#define PLUMB_MEMORY 4	/* rounds */

enum flight { FLIGHT_ARMED, FLIGHT_FLYING, FLIGHT_DONE };

struct plumb {
	struct sender s;
	struct rtt_floor floor;
	struct rounds rounds;
	struct sounding sounding;
	struct bunches bunches;
	struct growth growth;
	struct drain_and_look landing;
	struct rapid_recovery own;
	u64 noise_ns;	    /* RTT above the smallest that the sender does not cause */
	u64 flight_ns;	    /* when the first flight began */
	u64 standing;	    /* constant window of a recovery, bytes */
	u32 flight_mark;    /* its first byte */
	u32 whole, rest;    /* the window as last set: whole packets, and the bytes beyond them */
	u32 undo_whole, undo_rest;
	u32 bunched_in;	    /* the last round with bunches; 0: none */
	u8 flight;
	u8 strikes;
	bool unpaced;	    /* the first train is leaving */
	bool on;	    /* startup is running */
	bool was_on;	    /* `on` before the last congestion signal */
	bool data;	    /* data has been acknowledged */
	bool bunched;	    /* ACKs arrive in bunches and are not evaluated */
	bool gentle;	    /* a queue appeared while they do: twofold growth from now on */
	bool verify;	    /* the option */
};

INLINE u64 plumb_window_bytes(const void *state, u32 cwnd, u32 mss)
{
	const struct plumb *p = state;

	return (u64)cwnd * mss + (cwnd == p->whole && p->rest < mss ? p->rest : 0);
}

/* Stores the bytes that a window of whole packets omits; returns the packets. */
INLINE u32 plumb_whole(struct plumb *p, u64 bytes, u32 mss)
{
	mss = max32(mss, 1);
	p->whole = (u32)(bytes / mss);
	p->rest = (u32)(bytes % mss);
	return p->whole;
}

INLINE struct amount plumb_amount(const struct plumb *p, const struct window *w, u32 mss)
{
	struct amount a = { .cwnd = plumb_window_bytes(p, w->cwnd, mss),
			    .ssthresh = w->ssthresh == UNSET_SSTHRESH ? PLUMB_NO_BOUND : (u64)w->ssthresh * mss };

	return a;
}

INLINE struct decision plumb_hold(struct plumb *p, u64 bytes, u32 mss)
{
	struct decision d = { .verdict = HOLD };

	d.cwnd = plumb_whole(p, bytes, mss);
	return d;
}

INLINE void plumb_start(void *state, u64 now_us, u32 nxt)
{
	struct plumb *p = state;

	p->on = true;
	p->growth.gain = GAIN_RAPID;
	p->rounds.end = nxt;
	p->rounds.began_ns = now_us * 1000;
	rtt_floor_start(&p->floor, now_us * 1000);
}

INLINE void plumb_start_verifying(void *state, u64 now_us, u32 nxt)
{
	plumb_start(state, now_us, nxt);
	((struct plumb *)state)->verify = true;
}

INLINE void plumb_on_rtt(void *state, const struct ack *ack)
{
	struct plumb *p = state;

	if (!p->on)
		return;
	sounding_on_rtt(&p->sounding, (u64)ack->rtt_us * 1000);
	rtt_floor_on_rtt(&p->floor, ack);
}

INLINE u64 plumb_threshold(u64 min)
{
	return max64(rtt_floor_threshold(min), min + PLUMB_LEAST_RISE_NS);
}

/* PLUMB 4-sign: the RTT exceeded the threshold and the known noise during the whole last round trip. Returns the excess, or 0. */
INLINE u64 plumb_queue(const struct plumb *p)
{
	u64 floor = rtt_floor_ns(&p->floor), min = p->floor.min_ns;

	if (floor == NO_SAMPLE || floor <= max64(plumb_threshold(min), min + p->noise_ns))
		return 0;
	return floor - min;
}

/* PLUMB 3-raised: the RTT exceeds the threshold. */
INLINE bool plumb_raised(const struct plumb *p, const struct ack *ack)
{
	return ack->rtt_us != NO_RTT && (u64)ack->rtt_us * 1000 > plumb_threshold(p->floor.min_ns);
}

/* PLUMB 3-uneven: the trains of the first flight met different queues. */
INLINE bool plumb_uneven(const struct plumb *p)
{
	return p->sounding.high - p->sounding.low > max64(p->floor.min_ns / 8, PLUMB_LEAST_RISE_NS);
}

/* Whether the RTT is below a quarter of what would indicate a queue. */
INLINE bool plumb_calm(const struct plumb *p)
{
	u64 floor = rtt_floor_ns(&p->floor), min = p->floor.min_ns;

	return floor != NO_SAMPLE && floor <= min + max64((plumb_threshold(min) - min) / 4, p->noise_ns);
}

/* Processes an ACK of startup: rounds, soundings, bunches. */
INLINE void plumb_observe(struct plumb *p, const struct ack *ack, u64 min)
{
	struct arrival e = { .at = ack->now_us * 1000, .rtt = (u64)ack->rtt_us * 1000, .delivered = ack->delivered };

	if (rounds_on_ack(&p->rounds, ack, min)) {
		growth_next_round(&p->growth, plumb_calm(p));
		/* PLUMB 5-anew: each round is evaluated independently. */
		if (bunches_enough(&p->bunches))
			p->bunched = bunches_many(&p->bunches);
		bunches_next_round(&p->bunches);
	}
	if (ack->rtt_us != NO_RTT && ack->acked) {
		bunches_on_arrival(&p->bunches, &e, min);
		sounding_on_arrival(&p->sounding, &e, min, p->rounds.number, ack->mss);
	}
	if (bunches_enough(&p->bunches) && bunches_many(&p->bunches))
		p->bunched = true;
}

/* PLUMB 5-blind: soundings are discarded and there is no landing; a landing caused by bunches is undone. */
INLINE struct decision plumb_on_bunches(struct plumb *p, u64 cwnd, u32 mss)
{
	u64 before;

	p->bunched_in = p->rounds.number;
	sounding_forget_rates(&p->sounding);
	growth_forget(&p->growth);
	before = landing_abort(&p->landing);
	if (before || (p->rounds.number > 1 && plumb_queue(p)))
		p->gentle = true;
	return before > cwnd ? plumb_hold(p, before, mss) : stay(0);
}

INLINE struct decision plumb_on_finding(struct plumb *p, enum finding finding, const struct window *w, u64 cwnd, u32 mss)
{
	u64 rise = p->landing.rise;

	if (finding == FOUND_OTHERS) {
		/* PLUMB 4-others: counts as noise from now on; the window is restored. */
		p->noise_ns = max64(p->noise_ns, rise + rise / 4);
		return p->landing.before > cwnd ? plumb_hold(p, p->landing.before, mss) : stay(0);
	}
	/* PLUMB 4-strike: the path's capacity is found; growth is slow from now on. */
	sounding_forget(&p->sounding);
	p->growth.calm = 0;
	if (++p->strikes < PLUMB_STRIKES)
		return stay(0);
	/* PLUMB 4-leave: without a loss. */
	p->on = false;
	return leave(EXIT_DELAY, w->cwnd, w->cwnd);
}

/* PLUMB 4-land: delivery rate times smallest RTT, plus two packets; at least two initial windows, at most the window. */
INLINE u64 plumb_landing_window(const struct plumb *p, const struct ack *ack, const struct estimate *e, u64 min, u64 cwnd)
{
	u64 rate = rounds_best(&p->rounds, ack, min), held;

	/* A single sounding may be wrong: it is limited to twice the delivery rate. */
	rate = max64(rate, e->sure ? e->rate : min64(e->rate, 2 * rate));
	if (!rate)
		return 0;
	held = bytes_within(rate, min) + 2 * (u64)ack->mss;
	return min64(max64(held, 2 * (u64)p->s.c.initial_cwnd * ack->mss), cwnd);
}

/* Lands if a queue appears and a rate is known. */
INLINE struct decision plumb_land(struct plumb *p, const struct ack *ack, const struct estimate *e, u64 min, u64 cwnd)
{
	bool sure = p->growth.depth && p->growth.sure;
	u64 rise, window;

	if (p->landing.state != LANDING_NONE || p->rounds.number <= 1 || !(sure || rounds_half_over(&p->rounds, ack, min)))
		return stay(0);
	/* PLUMB 5-sticky: an RTT floor raised by bunches is not a queue, nor is one while delivery still grows. */
	if ((p->bunched_in && p->bunched_in + PLUMB_MEMORY > p->rounds.number) || !rounds_flat(&p->rounds))
		return stay(0);
	rise = plumb_queue(p);
	window = rise ? plumb_landing_window(p, ack, e, min, cwnd) : 0;
	if (!window)
		return stay(0);
	landing_begin(&p->landing, ack->nxt, cwnd, rise);
	return plumb_hold(p, window, ack->mss);
}

INLINE struct decision plumb_sample(void *state, const struct ack *ack, const struct window *w)
{
	struct plumb *p = state;
	u64 cwnd = plumb_window_bytes(p, w->cwnd, ack->mss), min, slack;
	enum finding finding;
	struct estimate e;
	struct decision d;

	if (!p->on)
		return stay(0);
	if (!p->data && ack->rtt_us != NO_RTT) {
		/* Handshake packets are shorter than data packets: the smallest RTT of data starts here. */
		p->data = true;
		rtt_floor_start(&p->floor, ack->now_us * 1000);
		rtt_floor_on_rtt(&p->floor, ack);
	}
	min = p->floor.min_ns;
	if (!p->data || min == NO_SAMPLE)
		return stay(0);
	plumb_observe(p, ack, min);
	if (!ack->acked)
		return stay(0);
	/* The landing keeps two packets above the path's capacity, plus rounding. */
	slack = min64(3 * (u64)ack->mss * NS_PER_S / max64(p->rounds.last, 1), min / 2);
	finding = landing_on_ack(&p->landing, ack, min, slack);
	if (finding != FOUND_NOTHING) {
		d = plumb_on_finding(p, finding, w, cwnd, ack->mss);
		if (d.verdict != STAY)
			return d;
	}
	if (p->bunched)
		return plumb_on_bunches(p, cwnd, ack->mss);
	e = sounding_estimate(&p->sounding, p->rounds.number);
	growth_know(&p->growth, &e, rounds_whole(&p->rounds), min, p->rounds.number, ack);
	/* PLUMB 3-verify: the rate of the path is not its spare capacity. */
	p->growth.room = p->sounding.drained;
	p->growth.unproven = p->verify && !p->sounding.drained;
	/* PLUMB 4-noise: delay that trains see before they can have caused a queue is noise. */
	if (p->rounds.number <= 1)
		p->noise_ns = max64(p->noise_ns, p->sounding.high - p->sounding.low);
	return plumb_land(p, ack, &e, min, cwnd);
}

/* The first ACK of the first flight reduces the window to the part that was used. */
INLINE void plumb_end_flight(struct plumb *p, const struct ack *ack, struct amount *a)
{
	u64 iw = (u64)p->s.c.initial_cwnd * ack->mss, used = (u64)ack->inflight_before * ack->mss;

	if (p->flight != FLIGHT_FLYING || !before(p->flight_mark, ack->una))
		return;
	a->cwnd = min64(a->cwnd, min64(max64(used, iw), PLUMB_VOLUME * iw));
	p->flight = FLIGHT_DONE;
}

INLINE struct decision plumb_grow(void *state, const struct ack *ack, u32 acked, struct window *w)
{
	struct plumb *p = state;
	struct amount a = plumb_amount(p, w, ack->mss);
	/* LINUX used-half, of the window in bytes. */
	bool limited = ack->cwnd_limited || a.cwnd < 2 * (u64)ack->most_out * ack->mss;

	if (!p->on)
		return stay(double_window(ack, acked, w));
	plumb_end_flight(p, ack, &a);
	if (p->landing.state != LANDING_NONE)
		/* PLUMB 4-still: no growth during drain and look. */
		p->growth.gain = GAIN_AVOIDANCE;
	else if (limited && p->bunched)
		growth_blind(&p->growth, ack, (u64)ack->acked * ack->mss, p->gentle, &a);
	else if (limited) {
		p->growth.uneven = plumb_uneven(p);
		p->growth.crowded = p->sounding.crowded || (!p->growth.depth && plumb_raised(p, ack));
		growth_grow(&p->growth, ack, p->strikes > 0, p->rounds.number, &a);
	}
	w->cwnd = plumb_whole(p, a.cwnd, ack->mss);
	return stay(0);
}

/* A connection that has sent data has no first flight. */
INLINE void plumb_first_window(void *state, struct sock *sk)
{
	if (((struct tcp_sock *)sk)->bytes_acked > 1)
		((struct plumb *)state)->flight = FLIGHT_DONE;
}

INLINE void plumb_forget(struct plumb *p)
{
	p->flight = FLIGHT_DONE;
	sounding_forget(&p->sounding);
	growth_forget(&p->growth);
}

/* PLUMB 1-once: not if the window has already grown that far, and only with a pacer, an RTT sample and enough data to fill it. */
INLINE void plumb_take_off(struct plumb *p, struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	u32 target = PLUMB_VOLUME * p->s.c.initial_cwnd;
	u64 mss = tp->mss_cache, cwnd = plumb_window_bytes(p, tp->snd_cwnd, mss);

	if (cwnd > target * mss) {
		p->flight = FLIGHT_DONE;
		return;
	}
	if (!tp->srtt_us || !sk->sk_pacing_status || !in_slow_start(tp) || tp->write_seq - tp->snd_nxt < above(cwnd, pipe_of(tp) * mss))
		return;
	set_cwnd(tp, max32(tp->snd_cwnd, min32(target, tp->snd_ssthresh)));
	p->flight_mark = tp->snd_nxt;
	p->flight_ns = tp->tcp_mstamp * 1000;
	p->flight = FLIGHT_FLYING;
}

/* Number of packets that leave back to back now. */
INLINE u32 plumb_before_send(void *state, struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct plumb *p = state;
	u32 sent = tp->data_segs_out, inflight = pipe_of(tp);

	/* PLUMB 7-idle: soundings from before a pause longer than the timeout are discarded. */
	if (!tp->packets_out && tp->rttvar_us && p->s.last_ack_us &&
	    tp->tcp_mstamp - p->s.last_ack_us > (tp->srtt_us >> 3) + tp->rttvar_us)
		plumb_forget(p);
	if (!p->on || p->flight == FLIGHT_DONE)
		return LEAST_BURST;
	if (p->flight == FLIGHT_ARMED)
		plumb_take_off(p, sk);
	if (p->flight == FLIGHT_FLYING && tp->tcp_mstamp * 1000 - p->flight_ns >= (u64)tp->srtt_us * 125)
		p->flight = FLIGHT_DONE;
	if (p->flight != FLIGHT_FLYING || !in_slow_start(tp))
		return LEAST_BURST;
	p->unpaced = sent < PLUMB_UNPACED;
	/* PLUMB 1-trains. The kernel delays a train until the window can hold it. */
	return min32(max32(PLUMB_TRAIN, sent < PLUMB_UNPACED ? PLUMB_UNPACED - sent : 0), tp->snd_cwnd - min32(inflight, tp->snd_cwnd));
}

INLINE u32 plumb_gain(const void *state)
{
	const struct plumb *p = state;

	if (!p->on)
		return GAIN_SLOW_START;
	if (p->flight != FLIGHT_FLYING)
		return p->growth.gain;
	/* The mean rate of the flight. The kernel shortens the first pause by half, to compensate for the time without transmissions. */
	return p->unpaced ? GAIN_JUMP / 2 : GAIN_JUMP;
}

/* Loss, marks or a timeout. */
INLINE void plumb_on_congestion(void *state)
{
	struct plumb *p = state;

	p->flight = FLIGHT_DONE;
	p->was_on = p->on;
	p->on = false;
	p->undo_whole = p->whole;
	p->undo_rest = p->rest;
}

/* PLUMB 7-undo: after a false alarm, startup continues where it was; the round contains recovery time. */
INLINE void plumb_restore(void *state)
{
	struct plumb *p = state;

	p->on = p->was_on;
	p->rounds.anew = p->rounds.spoilt = true;
	p->whole = p->undo_whole;
	p->rest = p->undo_rest;
}

/* PLUMB 7-timeout: a timeout ends it for good. */
INLINE void plumb_on_timeout(void *state, u64 now_us, u32 nxt)
{
	struct plumb *p = state;

	p->flight = FLIGHT_DONE;
	p->on = false;
}

/*
 * PLUMB 6-policed: many packets are lost without a queue and far below the depth that trains have shown; the delivery rate is then more
 * reliable than the window. PLUMB 6-one-answer: packets lost while a landing drains were sent under the previous window.
 */
INLINE enum own plumb_own_enter(void *state, const struct ack *ack, u32 cwnd, u32 lost)
{
	struct plumb *p = state;
	u64 mss = ack->mss, window = plumb_window_bytes(p, cwnd, mss), landed, pre;

	landed = p->was_on && p->landing.state == LANDING_DRAINS ? p->landing.before : 0;
	pre = min64(max64(landed, window), ack->inflight_before * mss);
	if (p->was_on && lost >= PLUMB_POLICED && p->growth.depth && pre < p->growth.depth / 4 && !plumb_queue(p)) {
		rapid_recovery_enter(&p->own, pre, p->s.c.initial_cwnd * mss, mss);
		p->standing = 0;
		return OWN_RAPID;
	}
	if (landed <= window) {
		/* The recovery policy controls the window from now on. */
		p->rest = 0;
		return OWN_NONE;
	}
	p->standing = max64(min64(beta_of(pre), window), 2 * mss);
	return OWN_STANDING;
}

INLINE u32 plumb_own_account(void *state, const struct ack *ack, u32 lost, bool last)
{
	struct plumb *p = state;
	u64 mss = ack->mss, window = p->standing;

	if (!window)
		window = rapid_recovery_account(&p->own, ack->acked * mss, lost * mss, last);
	return plumb_whole(p, window, mss);
}

#define PLUMB_STARTUP(arm, started)                                                                           \
	{                                                                                                     \
		.number = arm, .start = started, .on_rtt = plumb_on_rtt, .sample = plumb_sample,              \
		.grow = plumb_grow, .on_congestion = plumb_on_congestion, .restore = plumb_restore,           \
		.on_timeout = plumb_on_timeout,                                                               \
	}

#define PLUMB_ARM(hooks)                                                                                      \
	{                                                                                                     \
		.startup = &hooks, .policy = &prr, .first_window = plumb_first_window,                        \
		.before_send = plumb_before_send, .gain = plumb_gain, .own_enter = plumb_own_enter,           \
		.own_account = plumb_own_account, .window_bytes = plumb_window_bytes,                         \
	}

static const struct startup plumb_hooks = PLUMB_STARTUP(ARM_PLUMB, plumb_start);
static const struct startup plumb_verify_hooks = PLUMB_STARTUP(ARM_PLUMB_VERIFY, plumb_start_verifying);
static const struct pacing_and_own plumb_arm = PLUMB_ARM(plumb_hooks);
static const struct pacing_and_own plumb_verify_arm = PLUMB_ARM(plumb_verify_hooks);
#endif
