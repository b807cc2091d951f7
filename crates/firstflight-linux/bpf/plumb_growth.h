/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Delivery rates of Plumb's rounds, and its growth: fast towards a sounded depth, threefold while no depth is known, slow once the depth is
 * reached; as in the core's startup/plumb/rounds.rs and growth.rs. Windows here are in bytes, because an eighth of the data acknowledged by
 * an ACK can be less than a packet.
 */
#ifndef FF_PLUMB_GROWTH_H
#define FF_PLUMB_GROWTH_H

#include "mode_b.h"
#include "sounding.h"

#define PLUMB_GROWTH 4
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
	u32 number; /* completed rounds; the first ACK completes the round before the first flight */
	u32 end, delivered;
	bool anew;    /* a round starts regardless of `end` */
	bool spoilt;  /* this round contains time outside startup, so its rate is not used */
};

INLINE u64 rounds_rate(const struct rounds *r, const struct ack *ack, u64 least)
{
	u64 bytes = (u64)(u32)(ack->delivered - r->delivered) * ack->mss;

	return bytes_per_second(bytes, max64(above(ack->now_us * 1000, r->began_ns), least));
}

/* Processes an ACK of startup; returns whether it starts a round. */
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

/* The fastest of the last two rounds and, if half of it has passed, this one. */
INLINE u64 rounds_best(const struct rounds *r, const struct ack *ack, u64 min)
{
	bool readable = r->number && !r->spoilt && rounds_half_over(r, ack, min);

	return max64(rounds_whole(r), readable ? rounds_rate(r, ack, 0) : 0);
}

struct growth {
	u64 depth; /* rate times smallest RTT, plus two packets, bytes; 0 while unknown */
	u64 rate;
	u64 base;  /* in flight in the round `sounded`, bytes */
	u32 sounded; /* round in which a depth was first known; 0: none */
	u32 gain;    /* pacing gain until the next growth */
	u8 calm;     /* consecutive calm rounds of slow growth */
	bool sure;     /* two soundings agree */
	bool cruised;  /* this round grew slowly */
	bool unproven; /* no growth above twofold towards a depth yet */
	bool crowded;  /* other flows fill the path or the RTT is raised: grows like slow start while no depth is known */
	bool room;     /* a train was seen to drain */
	bool uneven;   /* the trains of the first flight met different queues */
};

INLINE void growth_forget(struct growth *g)
{
	g->depth = g->rate = 0;
	g->sure = false;
}

/* Takes the result of the soundings; `fastest` is the delivery rate of whole rounds. */
INLINE void growth_know(struct growth *g, const struct estimate *e, u64 fastest, u64 min, u32 round, const struct ack *ack)
{
	/* PLUMB 3-refuted: a rate that a whole round has exceeded by a twentieth is discarded. */
	if (!e->rate || e->rate * 20 < fastest * 19) {
		growth_forget(g);
		return;
	}
	/* PLUMB 3-depth: the path's capacity without a queue, plus two packets. */
	g->depth = bytes_within(e->rate, min) + 2 * (u64)ack->mss;
	g->rate = e->rate;
	g->sure = e->sure;
	if (!g->sounded) {
		g->sounded = round;
		g->base = (u64)ack->inflight_before * ack->mss;
	}
}

/* Starts a round; `calm` if the previous one showed no sign of a queue. */
INLINE void growth_next_round(struct growth *g, bool calm)
{
	if (g->cruised && calm)
		g->calm = (u8)min32(g->calm + 1, PLUMB_MOST_CALM);
	g->cruised = false;
}

/* The pacing gain that turns the window per smoothed RTT into `rate`; 1 to 1023. */
INLINE void growth_pace(struct growth *g, u64 rate, const struct ack *ack, const struct amount *w)
{
	u64 gain = bytes_within(rate, (u64)ack->srtt_x8_us * 125) * GAIN_UNIT / max64(w->cwnd, 1);

	g->gain = (u32)min64(max64(gain, GAIN_UNIT), 0xffff);
}

/* Grows like Rapid Start, or like slow start without a pacer or if `gentle`. */
INLINE void growth_blind(struct growth *g, const struct ack *ack, u64 acked, bool gentle, struct amount *w)
{
	u32 more = !ack->paced || gentle ? 1 : PLUMB_BLIND - 1;

	amount_open(w, acked * more);
	g->gain = more > 1 ? GAIN_RAPID : GAIN_SLOW_START;
}

INLINE void growth_cruise(struct growth *g, const struct ack *ack, struct amount *w)
{
	u32 doublings = g->calm > PLUMB_CALM ? g->calm - PLUMB_CALM : 0;
	u64 acked = (u64)ack->acked * ack->mss, step = (acked / PLUMB_CRUISE) << (doublings & 15);
	/* PLUMB 3-bound: a depth confirmed by two soundings is exceeded by at most a quarter until calm rounds refute it. */
	u64 bound = g->sure && !doublings ? g->depth + g->depth / 4 : PLUMB_NO_BOUND;

	g->cruised = true;
	amount_open(w, min64(min64(step, acked * (PLUMB_BLIND - 1)), above(bound, w->cwnd)));
	g->gain = doublings < 2 ? GAIN_AVOIDANCE : doublings < 4 ? GAIN_SLOW_START : GAIN_RAPID;
	/* A shallow buffer cannot hold a burst faster than the path; one sixteenth more finds capacity that the sounding missed. */
	if (g->depth && !doublings)
		growth_pace(g, g->rate + g->rate / 16, ack, w);
}

/* Grows on an ACK of round `round` and sets the pacing gain. After a strike (`careful`), growth is always slow. */
INLINE void growth_grow(struct growth *g, const struct ack *ack, bool careful, u32 round, struct amount *w)
{
	bool fast = ack->paced && !g->unproven && !g->uneven;
	u64 acked = (u64)ack->acked * ack->mss, more;

	/* PLUMB 3-uneven: by one and a half per round trip. */
	if (g->uneven)
		acked /= 2;
	if (careful || (g->depth && w->cwnd >= g->depth)) {
		growth_cruise(g, ack, w);
	} else if (g->depth) {
		/* PLUMB 3-known: by the factor, up to the depth. */
		more = acked * (fast ? PLUMB_GROWTH - 1 : 1);
		amount_open(w, min64(more, above(g->depth, w->cwnd)));
		/* PLUMB 3-once: the amount that blind growth would allow in this round trip may leave at once, if a train has drained. */
		if (fast && g->room && g->sounded == round)
			amount_open(w, above(min64(g->base * PLUMB_BLIND, g->depth), w->cwnd));
		growth_pace(g, g->rate, ack, w);
	} else {
		/* PLUMB 3-crowded, PLUMB 3-raised. */
		growth_blind(g, ack, acked, g->crowded || g->uneven, w);
	}
}
#endif
