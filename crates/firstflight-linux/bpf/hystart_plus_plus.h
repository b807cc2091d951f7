/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * HyStart++: slow start with a reversible exit on delay. Each round's smallest RTT is compared with that of the previous round; an increase
 * by an eighth starts conservative slow start (RFC 9406) or, in the early draft, limited slow start combined with avoidance.
 *
 * Follows: RFC 9406 (May 2023) and draft-balasubramanian-tcpm-hystartplusplus-03 (April 2020), as in the core's startup/hystart_plus_plus.rs
 * with its default options. Departures: those of the core (D1 to D4).
 */
#ifndef FF_HYSTART_PLUS_PLUS_H
#define FF_HYSTART_PLUS_PLUS_H

#include "firstflight.h"

#define N_RTT_SAMPLE 8
#define CSS_GROWTH_DIVISOR 4
#define CSS_ROUNDS 5
#define LSS_DIVISOR 4
/* Draft-03 does not act below 16 packets. */
#define LOW_CWND 16

enum hspp_stage { HSPP_SLOW_START, HSPP_CSS, HSPP_LSS, HSPP_OVER };

struct hystart_plus_plus {
	struct common c;
	u64 lss_rest;		/* remainder of the last division, packets times the threshold */
	u32 lss_floor;		/* minimum window after the last ACK: a larger one shows that avoidance has grown */
	u32 window_end;		/* the round ends when everything below it is acknowledged */
	u32 last_min_us;	/* lastRoundMinRTT; NO_RTT: none */
	u32 cur_min_us;		/* currentRoundMinRTT */
	u32 samples;
	u32 css_base_us;	/* an RTT below this was a false alarm */
	u32 css_rem;		/* remainder of the division, acknowledged packets */
	u32 saved_base_us;
	u8 css_rounds;
	u8 stage, saved_stage, saved_rounds;
	bool draft03;
	bool lss_ahead;		/* avoidance has already added the packet that limited slow start adds next */
};

INLINE void hspp_start(void *state, u64 now_us, u32 nxt)
{
	struct hystart_plus_plus *s = state;

	/* RFC9406 4.2-5: windowEnd starts at SND.NXT. */
	s->window_end = nxt;
	s->last_min_us = NO_RTT;
	s->cur_min_us = NO_RTT;
	s->samples = 0;
	s->stage = HSPP_SLOW_START;
}

/* RFC9406 4.2-13: an increase by an eighth (at least 4 ms, at most 16 ms). In eighths, which avoids rounding. */
INLINE bool hspp_risen(u32 base_us, u32 rtt_us)
{
	u64 rise_x8 = max64(min64(base_us, 8 * 16000), 8 * 4000);

	return 8 * (u64)rtt_us >= 8 * (u64)base_us + rise_x8;
}

/* The round continues and keeps its minimum; the next test needs eight new samples. */
INLINE void hspp_change(struct hystart_plus_plus *s, u8 stage)
{
	s->stage = stage;
	s->samples = 0;
}

/* Starts limited slow start, or continues it after another cause has set the window. */
INLINE void hspp_lss_anew(struct hystart_plus_plus *s)
{
	s->lss_floor = ~0u;
	s->lss_ahead = false;
}

INLINE struct decision hspp_judge(struct hystart_plus_plus *s, const struct window *w, u32 leftover)
{
	if (s->samples < N_RTT_SAMPLE || s->cur_min_us == NO_RTT)
		return stay(leftover);
	if (s->stage == HSPP_SLOW_START) {
		if (s->last_min_us == NO_RTT || (s->draft03 && w->cwnd < LOW_CWND) || !hspp_risen(s->last_min_us, s->cur_min_us))
			return stay(leftover);
		if (s->draft03) {
			s->stage = HSPP_LSS;
			s->lss_rest = 0;
			hspp_lss_anew(s);
			return leave(EXIT_LSS_TRIGGER, w->cwnd, s->cur_min_us);
		}
		hspp_change(s, HSPP_CSS);
		s->css_base_us = s->cur_min_us;
		s->css_rounds = 0;
		s->css_rem = 0;
	} else if (s->stage == HSPP_CSS && s->cur_min_us < s->css_base_us) {
		/* RFC9406 4.2-20: the rise was jitter. */
		hspp_change(s, HSPP_SLOW_START);
	}
	return stay(leftover);
}

/* The round ends. The sample of the ACK that ends it belongs to it. */
INLINE struct decision hspp_roll(struct hystart_plus_plus *s, const struct ack *ack, const struct window *w, u32 leftover)
{
	s->window_end = ack->nxt;
	s->last_min_us = s->cur_min_us;
	s->cur_min_us = NO_RTT;
	s->samples = 0;
	/* RFC9406 4.2-22: the round in which CSS was entered counts. */
	if (s->stage != HSPP_CSS || ++s->css_rounds < CSS_ROUNDS)
		return stay(leftover);
	s->stage = HSPP_OVER;
	return leave(EXIT_CSS_DONE, w->cwnd, s->css_base_us);
}

/* RFC9406 4.2-1: an ACK counts at most L = 8 packets, or all of them if a pacer spreads the next packets. */
INLINE u32 hspp_capped(const struct ack *ack, u32 acked)
{
	return ack->paced ? acked : min32(acked, 8);
}

INLINE u32 hspp_open(struct hystart_plus_plus *s, const struct ack *ack, u32 acked, struct window *w)
{
	u32 n = hspp_capped(ack, acked), sum;

	if (!ack->limited)
		return 0;
	if (s->stage != HSPP_CSS)
		return open_window(w, n);
	/* RFC9406 4.2-15: a quarter of the capped packets. */
	sum = s->css_rem + n;
	s->css_rem = sum % CSS_GROWTH_DIVISOR;
	return min32(open_window(w, sum / CSS_GROWTH_DIVISOR) * CSS_GROWTH_DIVISOR, n);
}

/* Below the threshold. The sample arrived with pkts_acked and is evaluated here, after growth, in the order of the RFC. */
INLINE struct decision hspp_grow(void *state, const struct ack *ack, u32 acked, struct window *w)
{
	struct hystart_plus_plus *s = state;
	u32 leftover = hspp_open(s, ack, acked, w);
	struct decision d;

	if (s->stage == HSPP_LSS)
		hspp_lss_anew(s);
	if (s->stage == HSPP_LSS || s->stage == HSPP_OVER)
		return stay(leftover);
	if (ack->rtt_us != NO_RTT) {
		s->cur_min_us = min32(s->cur_min_us, ack->rtt_us);
		s->samples++;
	}
	d = hspp_judge(s, w, leftover);
	if (d.verdict == STAY && !before(ack->una, s->window_end))
		d = hspp_roll(s, ack, w, leftover);
	return d;
}

/*
 * Draft-03: the minimum window that avoidance must keep; 0 for none. Growth is the larger of the two, as in the core. Both grow by whole
 * packets on different ACKs, so a packet added by avoidance replaces the next one added here; otherwise the window would grow by the sum.
 */
INLINE u32 hspp_beside_avoidance(void *state, const struct ack *ack, u32 acked, u32 cwnd)
{
	struct hystart_plus_plus *s = state;
	u64 sum, whole = (u64)LSS_DIVISOR * max32(cwnd, 1);
	u32 n = hspp_capped(ack, acked), step;

	if (s->stage != HSPP_LSS || !ack->limited)
		return 0;
	sum = (u64)n * ack->ssthresh + s->lss_rest;
	s->lss_rest = sum % whole;
	step = (u32)min64(sum / whole, n);
	if (cwnd > s->lss_floor)
		s->lss_ahead = true;
	if (step && s->lss_ahead) {
		s->lss_ahead = false;
		step--;
	}
	s->lss_floor = cwnd + step;
	return s->lss_floor;
}

/* The window reached a threshold that others had set. */
INLINE u8 hspp_reached(void *state)
{
	struct hystart_plus_plus *s = state;

	if (s->stage != HSPP_LSS)
		s->stage = HSPP_OVER;
	return EXIT_THRESHOLD;
}

/* RFC9406 4.2-24: loss or marks end it at any time. */
INLINE void hspp_on_congestion(void *state)
{
	struct hystart_plus_plus *s = state;

	s->saved_stage = s->stage;
	s->saved_rounds = s->css_rounds;
	s->saved_base_us = s->css_base_us;
	s->stage = HSPP_OVER;
}

/* RFC9406 4.3-11: only in the initial slow start, because later ones have a threshold. */
INLINE void hspp_on_timeout(void *state, u64 now_us, u32 nxt)
{
	struct hystart_plus_plus *s = state;

	s->stage = HSPP_OVER;
}

/* The loss was a false alarm. */
INLINE void hspp_restore(void *state)
{
	struct hystart_plus_plus *s = state;

	s->stage = s->saved_stage;
	s->css_rounds = s->saved_rounds;
	s->css_base_us = s->saved_base_us;
	s->css_rem = 0;
	s->lss_rest = 0;
	hspp_lss_anew(s);
}

INLINE void hspp_start_draft03(void *state, u64 now_us, u32 nxt)
{
	struct hystart_plus_plus *s = state;

	hspp_start(state, now_us, nxt);
	s->draft03 = true;
}

static const struct startup hspp_rfc9406 = {
	.number = ARM_HYSTART_PLUS_PLUS,
	.start = hspp_start,
	.grow = hspp_grow,
	.reached = hspp_reached,
	.on_congestion = hspp_on_congestion,
	.restore = hspp_restore,
	.on_timeout = hspp_on_timeout,
};

static const struct startup hspp_draft03 = {
	.number = ARM_HYSTART_PLUS_PLUS_LSS,
	.start = hspp_start_draft03,
	.grow = hspp_grow,
	.beside_avoidance = hspp_beside_avoidance,
	.reached = hspp_reached,
	.on_congestion = hspp_on_congestion,
	.restore = hspp_restore,
	.on_timeout = hspp_on_timeout,
};
#endif
