/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Sounding: estimates the bottleneck rate from the spacing of ACKs, as in the core's signal/sounding.rs. A sounding is a run of ACKs over
 * which the RTT rose: the acknowledged packets left faster than the ACKs returned.
 *
 * Departures:
 * K12 without 128-bit arithmetic, an interval counts at most 16 GiB, and deliveries within an RTT are counted for at most 18 s.
 */
#ifndef FF_SOUNDING_H
#define FF_SOUNDING_H

#include "firstflight.h"

#define SOUNDING_ONE_ARRIVAL_NS 5000
#define SOUNDING_KEPT 4
#define SOUNDING_LIFETIME 8 /* rounds */
#define SOUNDING_LONGEST_BUSY_NS 60000000
#define NS_PER_S 1000000000ull

/* Rates are in bytes per second; 0: none. */
INLINE u64 bytes_per_second(u64 bytes, u64 ns)
{
	return ns ? min64(bytes, 1ull << 34) * NS_PER_S / ns : 0;
}

INLINE u64 bytes_within(u64 rate, u64 ns)
{
	ns = min64(ns, 18 * NS_PER_S);
	return rate / NS_PER_S * ns + rate % NS_PER_S * ns / NS_PER_S;
}

/* a - b, or 0 if negative. */
INLINE u64 above(u64 a, u64 b) { return a > b ? a - b : 0; }

/* An ACK with an RTT sample. */
struct arrival {
	u64 at, rtt; /* ns */
	u32 delivered; /* packets since the start of the connection, wrapping */
};

struct sounding {
	struct arrival first, last; /* of the open run */
	u64 current;		    /* its rate; 0 while unknown */
	u64 kept[SOUNDING_KEPT];    /* rates of closed runs, newest first */
	u64 idle;		    /* smallest RTT, including the handshake's; 0: none */
	u64 low, high;		    /* range of RTTs at which runs started, while we cannot have caused a queue */
	u32 rounds[SOUNDING_KEPT];  /* rounds of the closed runs */
	bool open, heads;
	bool drained; /* the queue of a train had drained before the next one */
	bool crowded; /* the queue of a train of the first flight had not drained */
};

/* Combined result of the soundings. */
struct estimate {
	u64 rate; /* median of the valid soundings; the larger of two */
	bool sure; /* the second largest is at least four fifths of the largest */
};

INLINE void sounding_on_rtt(struct sounding *s, u64 rtt)
{
	s->idle = s->idle ? min64(s->idle, rtt) : rtt;
}

INLINE void sounding_begin(struct sounding *s, const struct arrival *e, u32 round)
{
	s->first = s->last = *e;
	if (round > 1)
		return;
	s->low = s->heads ? min64(s->low, e->rtt) : e->rtt;
	s->high = s->heads ? max64(s->high, e->rtt) : e->rtt;
	s->heads = true;
}

INLINE void sounding_close(struct sounding *s, u32 round)
{
	if (!s->current)
		return;
	s->kept[3] = s->kept[2];
	s->kept[2] = s->kept[1];
	s->kept[1] = s->kept[0];
	s->kept[0] = s->current;
	s->rounds[3] = s->rounds[2];
	s->rounds[2] = s->rounds[1];
	s->rounds[1] = s->rounds[0];
	s->rounds[0] = round;
}

/* The rate of the open run, if it has one. */
INLINE u64 sounding_of_run(const struct sounding *s, u32 mss)
{
	u64 took = s->last.at - s->first.at, bytes = (u64)(u32)(s->last.delivered - s->first.delivered) * mss;
	u64 rise = above(s->last.rtt, s->first.rtt), rate;

	/* PLUMB 2-path: the packets acknowledged over `took` had left within three quarters of it. */
	if (took <= SOUNDING_ONE_ARRIVAL_NS || bytes < 2 * (u64)mss || rise < took / 4)
		return 0;
	rate = bytes_per_second(bytes, took);
	if (!rate)
		return 0;
	/* PLUMB 2-late: a run whose first ACK was delayed is a bunch of ACKs, not a train. */
	if (above(s->first.rtt, s->idle) > max64(s->idle / 8, 3 * (u64)mss * NS_PER_S / rate))
		return 0;
	return rate;
}

/* PLUMB 2-room: an isolated train finds no queue of the previous one, unless other traffic uses the path's capacity. */
INLINE void sounding_look_for_room(struct sounding *s, const struct arrival *e, u64 rise, u64 silence, u32 round)
{
	bool fell = above(s->last.rtt, e->rtt) > rise / 4;

	if (fell && e->rtt < s->first.rtt + rise / 2)
		s->drained = true;
	if (silence > 2 * (s->last.at - s->first.at) && !fell && round <= 1)
		s->crowded = true;
}

/* Adds an arrival in round `round`; `min` is the smallest RTT of data. */
INLINE void sounding_on_arrival(struct sounding *s, const struct arrival *e, u64 min, u32 round, u32 mss)
{
	u64 rise, silence = e->at - s->last.at;

	if (!s->open) {
		s->open = true;
		sounding_begin(s, e, round);
		s->current = 0;
		return;
	}
	if (silence <= SOUNDING_ONE_ARRIVAL_NS) {
		/* The later one replaces it. */
		if (s->first.at == s->last.at) {
			s->first.rtt = e->rtt;
			s->first.delivered = e->delivered;
		}
		s->last.rtt = e->rtt;
		s->last.delivered = e->delivered;
	} else {
		rise = above(s->last.rtt, s->first.rtt);
		if (s->current)
			sounding_look_for_room(s, e, rise, silence, round);
		/* PLUMB 2-run: ends where the RTT falls by more than a quarter of its rise, or after a gap of half a round trip; PLUMB
		 * 2-busy: not if the RTT rose by a quarter of the gap. */
		if (above(s->last.rtt, e->rtt) > rise / 4 ||
		    (silence > min / 2 && (silence > SOUNDING_LONGEST_BUSY_NS || above(e->rtt, s->last.rtt) < silence / 4))) {
			sounding_close(s, round);
			sounding_begin(s, e, round);
		}
		s->last = *e;
	}
	s->current = sounding_of_run(s, mss);
}

INLINE void sounding_order(u64 *a, u64 *b)
{
	u64 low = min64(*a, *b), high = max64(*a, *b);

	*a = low;
	*b = high;
}

/* The result in round `round`; a rate of 0 if there is none. */
INLINE struct estimate sounding_estimate(const struct sounding *s, u32 round)
{
	struct estimate e = { 0 };
	u64 r0, r1, r2, r3, r4 = s->current;

	r0 = s->rounds[0] + SOUNDING_LIFETIME >= round ? s->kept[0] : 0;
	r1 = s->rounds[1] + SOUNDING_LIFETIME >= round ? s->kept[1] : 0;
	r2 = s->rounds[2] + SOUNDING_LIFETIME >= round ? s->kept[2] : 0;
	r3 = s->rounds[3] + SOUNDING_LIFETIME >= round ? s->kept[3] : 0;
	/* Sorts five values. */
	sounding_order(&r0, &r1);
	sounding_order(&r3, &r4);
	sounding_order(&r2, &r4);
	sounding_order(&r2, &r3);
	sounding_order(&r1, &r4);
	sounding_order(&r0, &r3);
	sounding_order(&r0, &r2);
	sounding_order(&r1, &r3);
	sounding_order(&r1, &r2);
	/* PLUMB 2-middle; PLUMB 2-sure: two that agree within a fifth. */
	e.rate = r0 ? r2 : r2 ? r3 : r4;
	e.sure = r3 * 5 >= r4 * 4;
	return e;
}

/* Discards all soundings so far. */
INLINE void sounding_forget_rates(struct sounding *s)
{
	s->current = s->kept[0] = s->kept[1] = s->kept[2] = s->kept[3] = 0;
}

/* The same, and the next arrival starts a run. */
INLINE void sounding_forget(struct sounding *s)
{
	sounding_forget_rates(s);
	s->open = false;
}
#endif
