/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * What rounds of Plumb deliver, and how it grows by that: fast towards a depth that was sounded, threefold while none is known, slowly where
 * it has been reached; as the core's startup/plumb/rounds.rs and growth.rs. Windows here are bytes: an eighth of what an ACK acknowledges is
 * less than a packet.
 */
#ifndef FF_PLUMB_GROWTH_H
#define FF_PLUMB_GROWTH_H

#include "mode_b.h"
#include "sounding.h"

#define PLUMB_GROWTH 8
#define PLUMB_BLIND 3
#define PLUMB_CRUISE 8
#define PLUMB_CALM 2
#define PLUMB_MOST_CALM (PLUMB_CALM + 8)
#define PLUMB_NO_BOUND (1ull << 40)

/* A window in bytes. */
struct amount {
	u64 cwnd, ssthresh;
};

INLINE void amount_open(struct amount *w, u64 bytes)
{
	w->cwnd += min64(bytes, above(w->ssthresh, w->cwnd));
}

/* Rates are in bytes per second, 0 while unknown. */
struct rounds {
	u64 began_ns, last, before_last;
	u32 number; /* rounds completed; the first ACK completes the one before the first flight */
	u32 end, delivered;
	bool anew;    /* one begins whatever `end` is */
	bool spoilt;  /* this one holds time that is not startup's: its rate says nothing */
};

INLINE u64 rounds_rate(const struct rounds *r, const struct ack *ack, u64 least)
{
	u64 bytes = (u64)(u32)(ack->delivered - r->delivered) * ack->mss;

	return bytes_per_second(bytes, max64(above(ack->now_us * 1000, r->began_ns), least));
}

/* One ACK of startup; whether a round has begun with it. */
INLINE bool rounds_on_ack(struct rounds *r, const struct ack *ack, u64 min)
{
	if (!r->anew && !before(r->end, ack->una))
		return false;
	if (r->number && !ack->app_limited && !r->spoilt) {
		r->before_last = r->last;
		r->last = rounds_rate(r, ack, min);
	}
	r->number++;
	r->end = ack->nxt;
	r->began_ns = ack->now_us * 1000;
	r->delivered = ack->delivered;
	r->anew = r->spoilt = false;
	return true;
}

/* The faster of the last two whole rounds. */
INLINE u64 rounds_whole(const struct rounds *r)
{
	return max64(r->last, r->before_last);
}

/* PLUMB 4-flat: the last whole round delivered at most a quarter faster than the one before. */
INLINE bool rounds_flat(const struct rounds *r)
{
	return r->before_last && r->last * 4 <= r->before_last * 5;
}

INLINE bool rounds_half_over(const struct rounds *r, const struct ack *ack, u64 min)
{
	return above(ack->now_us * 1000, r->began_ns) >= min / 2;
}

/* The fastest of this round, if half of it is behind, and the last two. */
INLINE u64 rounds_best(const struct rounds *r, const struct ack *ack, u64 min)
{
	bool readable = r->number && !r->spoilt && rounds_half_over(r, ack, min);

	return max64(rounds_whole(r), readable ? rounds_rate(r, ack, 0) : 0);
}

struct growth {
	u64 depth; /* rate times smallest RTT and two packets, in bytes; 0 while unknown */
	u64 rate;
	u64 base;  /* in flight in the round `sounded`, bytes */
	u32 sounded; /* in which a depth was first known; 0: none was */
	u32 gain;    /* of pacing, until the next growth */
	u8 calm;     /* calm rounds of slow growth in a row */
	bool sure;     /* two soundings agree */
	bool cruised;  /* this round grew slowly */
	bool unproven; /* no growth above two towards a depth yet */
	bool crowded;  /* others fill the path: as slow start while nothing is known */
};

INLINE void growth_forget(struct growth *g)
{
	g->depth = g->rate = 0;
	g->sure = false;
}

/* Takes what the soundings say; `fastest` is what whole rounds delivered. */
INLINE void growth_know(struct growth *g, const struct estimate *e, u64 fastest, u64 min, u32 round, const struct ack *ack)
{
	/* PLUMB 3-refuted: a rate that a whole round has exceeded by a twentieth is none. */
	if (!e->rate || e->rate * 20 < fastest * 19) {
		growth_forget(g);
		return;
	}
	/* PLUMB 3-depth: what the path holds without a queue, and two packets. */
	g->depth = bytes_within(e->rate, min) + 2 * (u64)ack->mss;
	g->rate = e->rate;
	g->sure = e->sure;
	if (!g->sounded) {
		g->sounded = round;
		g->base = (u64)ack->inflight_before * ack->mss;
	}
}

/* A round begins; `calm` if nothing of a queue was seen in the one that ended. */
INLINE void growth_next_round(struct growth *g, bool calm)
{
	if (g->cruised && calm)
		g->calm = (u8)min32(g->calm + 1, PLUMB_MOST_CALM);
	g->cruised = false;
}

/* The gain that makes `rate` of the window per smoothed RTT; between 1 and 1023. */
INLINE void growth_pace(struct growth *g, u64 rate, const struct ack *ack, const struct amount *w)
{
	u64 gain = bytes_within(rate, (u64)ack->srtt_x8_us * 125) * GAIN_UNIT / max64(w->cwnd, 1);

	g->gain = (u32)min64(max64(gain, GAIN_UNIT), 0xffff);
}

/* Rapid Start's growth, or slow start's: without a pacer and where it must be `gentle`. */
INLINE void growth_blind(struct growth *g, const struct ack *ack, bool gentle, struct amount *w)
{
	u32 more = !ack->paced || gentle ? 1 : PLUMB_BLIND - 1;

	amount_open(w, (u64)ack->acked * ack->mss * more);
	g->gain = more > 1 ? GAIN_RAPID : GAIN_SLOW_START;
}

INLINE void growth_cruise(struct growth *g, const struct ack *ack, struct amount *w)
{
	u32 doublings = g->calm > PLUMB_CALM ? g->calm - PLUMB_CALM : 0;
	u64 acked = (u64)ack->acked * ack->mss, step = (acked / PLUMB_CRUISE) << (doublings & 15);
	/* PLUMB 3-bound: a depth that two soundings agree on is passed by a quarter at most, until calm rounds have refuted it. */
	u64 bound = g->sure && !doublings ? g->depth + g->depth / 4 : PLUMB_NO_BOUND;

	g->cruised = true;
	amount_open(w, min64(min64(step, acked * (PLUMB_BLIND - 1)), above(bound, w->cwnd)));
	g->gain = doublings < 2 ? GAIN_AVOIDANCE : doublings < 4 ? GAIN_SLOW_START : GAIN_RAPID;
	/* A shallow buffer holds no burst above the pace of the path; a sixteenth more finds what the sounding missed. */
	if (g->depth && !doublings)
		growth_pace(g, g->rate + g->rate / 16, ack, w);
}

/* Grows by one ACK of round `round` and sets the pace. After a strike (`careful`) always slowly. */
INLINE void growth_grow(struct growth *g, const struct ack *ack, bool careful, u32 round, struct amount *w)
{
	bool fast = ack->paced && !g->unproven;
	u64 more;

	if (careful || (g->depth && w->cwnd >= g->depth)) {
		growth_cruise(g, ack, w);
	} else if (g->depth) {
		/* PLUMB 3-known: by the factor, not beyond the depth. */
		more = (u64)ack->acked * ack->mss * (fast ? PLUMB_GROWTH - 1 : 1);
		amount_open(w, min64(more, above(g->depth, w->cwnd)));
		/* PLUMB 3-once: what blind growth would allow within this round trip may leave at once. */
		if (fast && g->sounded == round)
			amount_open(w, above(min64(g->base * PLUMB_BLIND, g->depth), w->cwnd));
		growth_pace(g, g->rate, ack, w);
	} else {
		/* PLUMB 3-crowded. */
		growth_blind(g, ack, g->crowded, w);
	}
}
#endif
