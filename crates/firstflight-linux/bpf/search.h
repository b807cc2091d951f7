/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * SEARCH 4.0: slow start ends when delivery stops keeping up with sending. Time is cut into bins of 0.35 initial RTTs; when a bin closes,
 * the packets delivered over the last ten bins are compared with those sent over the same span one RTT earlier. Once they fall short by
 * 26 %, the window is reduced gradually to the amount delivered in the last initial RTT.
 *
 * Follows: draft-chung-ccwg-search-09 (17 March 2026), as the core's startup/search.rs does. Departures: those of the core, and
 * K3 of hystart.h; K4 counters are packets, so the core's shared shift (its D3) is never needed.
 */
#ifndef FF_SEARCH_H
#define FF_SEARCH_H

#include "firstflight.h"

#define SEARCH_WINDOW 10 /* bins */
#define SEARCH_EXTRA 15	 /* the RTT counts as inflated at this look-back, bins */
#define SEARCH_BIN_PERCENT 35
#define SEARCH_THRESH_PERCENT 26
#define SEARCH_DRAIN_RATIO 3
/* Ring lengths are the next power of two above the number of bins read (11 and 26), so that an index needs only a mask. */
#define SEARCH_NEAR 16
#define SEARCH_FAR 32

enum search_stage { SEARCH_ARMED, SEARCH_DRAINING, SEARCH_DONE };

struct search {
	struct common c;
	u64 bin_ns;	   /* 0: no record yet */
	u64 bin_end_ns;
	u64 initial_rtt_ns;
	u64 idx;	   /* the last closed bin */
	u32 delivered[SEARCH_NEAR], sent[SEARCH_FAR]; /* counters at the end of each bin */
	u32 delivered_base, sent_base;
	u32 target, credit; /* draining */
	u32 estimate;
	u8 stage, saved_stage;
};

INLINE void search_start(void *state, u64 now_us, u32 nxt)
{
	struct search *s = state;

	s->stage = SEARCH_ARMED;
	s->bin_ns = 0;
}

INLINE void search_store(struct search *s, u64 idx, const struct ack *ack)
{
	s->delivered[idx & (SEARCH_NEAR - 1)] = ack->delivered - s->delivered_base;
	s->sent[idx & (SEARCH_FAR - 1)] = ack->sent - s->sent_base;
}

/* Counts from before the flight to which this ACK belongs. */
INLINE void search_begin(struct search *s, const struct ack *ack)
{
	u64 rtt_ns = (u64)ack->rtt_us * 1000;

	s->initial_rtt_ns = rtt_ns;
	s->bin_ns = max64(rtt_ns * SEARCH_BIN_PERCENT / 100, 1);
	s->bin_end_ns = ack->now_us * 1000 + s->bin_ns;
	s->idx = 0;
	__builtin_memset(s->delivered, 0, sizeof(s->delivered));
	__builtin_memset(s->sent, 0, sizeof(s->sent));
	s->delivered_base = ack->delivered - ack->acked;
	s->sent_base = ack->sent - ack->inflight_before;
	search_store(s, 0, ack);
}

/* Packets delivered in the `bins` bins, at most ten, up to `end`. */
INLINE u32 search_delivered(const struct search *s, u64 end, u64 bins)
{
	u64 from = end > bins ? end - bins : 0;

	return s->delivered[end & (SEARCH_NEAR - 1)] - s->delivered[from & (SEARCH_NEAR - 1)];
}

/* Packets sent over one window up to `end`, which is at least one window from the start. */
INLINE u32 search_sent(const struct search *s, u64 end)
{
	return s->sent[end & (SEARCH_FAR - 1)] - s->sent[(end - SEARCH_WINDOW) & (SEARCH_FAR - 1)];
}

/* Bins without an ACK keep the counters of the previous bin. */
INLINE void search_copy_forward(struct search *s, u64 to)
{
	u32 i, delivered = s->delivered[s->idx & (SEARCH_NEAR - 1)], sent = s->sent[s->idx & (SEARCH_FAR - 1)];

	for (i = 1; i <= SEARCH_WINDOW; i++) {
		u64 bin = s->idx + i;

		if (bin >= to)
			break;
		s->delivered[bin & (SEARCH_NEAR - 1)] = delivered;
		s->sent[bin & (SEARCH_FAR - 1)] = sent;
	}
}

/* Whether delivery in the window that just ended falls short of the packets sent one RTT (of the current sample) earlier; in bytes. */
INLINE bool search_short(const struct search *s, u32 rtt_us, u32 mss)
{
	u64 rtt_ns = (u64)rtt_us * 1000, look = rtt_ns / s->bin_ns, frac = rtt_ns % s->bin_ns * 100 / s->bin_ns;
	u64 prev, expected, shortfall, delivered;

	if (look >= SEARCH_EXTRA || s->idx < look || s->idx - look < SEARCH_WINDOW + 1)
		return false;
	prev = s->idx - look;
	/* Interpolates between the whole bins of look-back and the next older one. */
	expected = ((u64)search_sent(s, prev) * (100 - frac) + (u64)search_sent(s, prev - 1) * frac) * mss / 100;
	delivered = (u64)search_delivered(s, s->idx, SEARCH_WINDOW) * mss;
	shortfall = expected > delivered ? (expected - delivered) * 100 : 0;
	return shortfall && shortfall >= SEARCH_THRESH_PERCENT * expected;
}

INLINE struct decision search_exit(struct search *s, const struct window *w)
{
	/* Whole bins, rounded up: 3 bins are 1.05 initial RTTs. */
	u64 span = min64((s->initial_rtt_ns + s->bin_ns - 1) / s->bin_ns, SEARCH_WINDOW);
	u32 target;
	struct decision d = stay(0);

	s->estimate = search_delivered(s, s->idx, span);
	target = min32(max32(s->estimate, s->c.initial_cwnd), w->cwnd);
	if (target < w->cwnd) {
		s->stage = SEARCH_DRAINING;
		s->target = target;
		s->credit = 0;
		d.verdict = HOLD;
		d.cwnd = w->cwnd;
		return d;
	}
	s->stage = SEARCH_DONE;
	d = leave(EXIT_FLATTENED, w->cwnd, s->estimate);
	return d;
}

/* Runs on every ACK while armed: closes the bins that ended before it and evaluates once. */
INLINE struct decision search_watch(struct search *s, const struct ack *ack, const struct window *w)
{
	u64 now_ns = ack->now_us * 1000, passed;

	if (ack->rtt_us == NO_RTT)
		return stay(0);
	if (!s->bin_ns) {
		search_begin(s, ack);
		return stay(0);
	}
	if (now_ns < s->bin_end_ns)
		return stay(0);
	passed = (now_ns - s->bin_end_ns) / s->bin_ns + 1;
	if (passed > SEARCH_WINDOW) {
		/* A long gap has made the record useless. */
		s->bin_ns = 0;
		return stay(0);
	}
	search_copy_forward(s, s->idx + passed);
	s->idx += passed;
	search_store(s, s->idx, ack);
	s->bin_end_ns += s->bin_ns * passed;
	return search_short(s, ack->rtt_us, ack->mss) ? search_exit(s, w) : stay(0);
}

/* Runs on every ACK while draining: the window follows the flight down, with one packet of credit per three acknowledged. */
INLINE struct decision search_drain(struct search *s, const struct ack *ack, const struct window *w)
{
	struct decision d = stay(0);
	u32 credit = s->credit + ack->acked;
	u32 cwnd = min32(max32(ack->inflight + credit / SEARCH_DRAIN_RATIO, s->target), w->cwnd);

	if (cwnd > s->target) {
		s->credit = credit % SEARCH_DRAIN_RATIO;
		d.verdict = HOLD;
		d.cwnd = cwnd;
		return d;
	}
	s->stage = SEARCH_DONE;
	d = leave(EXIT_FLATTENED, cwnd, s->estimate);
	d.cwnd = cwnd;
	return d;
}

INLINE struct decision search_sample(void *state, const struct ack *ack, const struct window *w)
{
	struct search *s = state;

	if (s->stage == SEARCH_ARMED)
		return search_watch(s, ack, w);
	return s->stage == SEARCH_DRAINING ? search_drain(s, ack, w) : stay(0);
}

INLINE struct decision search_grow(void *state, const struct ack *ack, u32 acked, struct window *w)
{
	struct search *s = state;

	/* Draining stays below the threshold; growth would undo it. */
	return stay(s->stage == SEARCH_DRAINING ? 0 : double_window(ack, acked, w));
}

INLINE void search_on_congestion(void *state)
{
	struct search *s = state;

	s->saved_stage = s->stage;
	s->stage = SEARCH_DONE;
}

/* After a false alarm interrupts a drain, the search resumes with the existing record. */
INLINE void search_restore(void *state)
{
	struct search *s = state;

	if (s->saved_stage != SEARCH_DONE)
		s->stage = SEARCH_ARMED;
}

static const struct startup search_hooks = {
	.number = ARM_SEARCH,
	.start = search_start,
	.sample = search_sample,
	.grow = search_grow,
	.on_congestion = search_on_congestion,
	.restore = search_restore,
	/* Slow start runs again, perhaps on another path. */
	.on_timeout = search_start,
	.on_idle = search_start,
};
#endif
