/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * BEST, robust: every round yields up to three rate estimates: from the median ACK spacing, from the fastest longer chunk, and from the
 * receiver's clock if ACKs carry it. If they agree with each other and with the previous round, rate times smallest RTT becomes the
 * threshold, provisionally and only above the window. Otherwise SEARCH, which runs in parallel, decides.
 *
 * Follows: our own design, as in the core's startup/best.rs and startup/best/estimators.rs with their defaults. Departures: those of the
 * core; K9 of rate_histogram.h; K10 an ACK is application-limited if the kernel marks what it sends now so (tcp_sock.app_limited).
 */
#ifndef FF_BEST_H
#define FF_BEST_H

#include "rate_histogram.h"
#include "search.h"

#define BEST_RTT_OFF_NS 2000000u /* shorter rounds measure nothing */
#define BEST_GUARD_NS 4000000u	 /* minimum RTT increase that counts as a standing queue */
#define BEST_MIN_SAMPLES 8
#define BEST_HOLE_PACKETS 64  /* a larger ACK filled a hole */
#define BEST_FLOOR_PACKETS 16 /* minimum threshold, as is twice the initial window */
#define BEST_RTT_STEP_NS 8000000u
#define BEST_LEVEL_ROUNDS 3
#define BEST_COALESCE_NS 20000	  /* shorter intervals are merged */
#define BEST_BURST_GAP_NS 500000  /* the shortest gap before a burst of a slotted return path */
#define BEST_BUCKET_NS 2500000000u /* the RTT minimum covers four buckets */
#define BEST_BUCKETS 4
#define BEST_TS_MIN 16 /* minimum length of a train on the receiver's clock, ticks */
#define BEST_TS_BREAK 2
#define BEST_TICK_CHECK_RTTS 10

/* Outcome of a round: exactly one, counted in common.outcomes. */
enum best_outcome {
	BEST_SET,
	BEST_LATE,	/* the estimate is already below the window */
	BEST_INFLATED,	/* a standing queue on the forward or return path */
	BEST_PACER,	/* the estimate is the sender's own pacing rate */
	BEST_FEW,	/* too few samples */
	BEST_AMBIGUOUS, /* the median lies between two modes */
	BEST_UNSTABLE,	/* the previous round disagrees */
	BEST_DISAGREE,	/* the spacing rate is more than twice the chunk rate */
};

enum best_tick { TICK_UNSEEN, TICK_ASSUMED, TICK_CHECKED, TICK_UNUSABLE };

struct interval {
	u64 start_ns, bytes;
};

/* Times are in ns, rates in 2^-20 Mbit/s; 0 is no rate. */
struct best {
	struct search search; /* `struct common` is at its head */
	u64 floor_begun;	 /* start of the newest bucket; undefined while all are empty */
	u32 floor[BEST_BUCKETS]; /* smallest RTT of each 2.5 s, newest first; NO_RTT: none */
	u32 mark;		 /* the round ends with the first ACK at or above this */
	u32 aim, ceiling;	 /* threshold set by us and by others; packets */
	u32 round_min, round_min_prev;
	struct rate_histogram pairs;
	struct interval pair, open_chunk;
	u64 last;				/* time of the last ACK, if `seen` */
	u64 burst_intra, burst_begun, burst_period;
	bool seen, burst;			/* an ACK was seen; a burst was seen, so `burst_begun` is valid */
	u64 chunk;				/* the largest of this round */
	u64 median_prev, clock_prev, chunk_prev;
	u64 level;				/* chunk rate at which growth stopped */
	u64 clock;				/* the largest of this round */
	u64 tick_since;				/* start of the check of the receiver's clock */
	u32 tick_first, train_first, train_last, train_bytes;
	u8 tick, tick_ms;
	bool marked, train, ended, saved_ended;
	u8 off_level_rounds;
};

/* Empty and armed. */
INLINE void best_rearm(struct best *b)
{
	__builtin_memset((u8 *)b + sizeof(b->search), 0, sizeof(*b) - sizeof(b->search));
	b->floor[0] = b->floor[1] = b->floor[2] = b->floor[3] = NO_RTT;
	b->round_min = b->round_min_prev = NO_RTT;
	b->aim = b->ceiling = UNSET_SSTHRESH;
	b->tick_ms = 1;
	histogram_empty(&b->pairs);
}

INLINE void best_start(void *state, u64 now_us, u32 nxt)
{
	best_rearm(state);
	search_start(state, now_us, nxt);
}

/* In 32 bits of nanoseconds, saturating. */
INLINE u32 best_rtt_ns(u32 us)
{
	return (u32)min64((u64)us * 1000, NO_RTT - 1);
}

INLINE void best_floor_update(struct best *b, u64 now, u32 rtt)
{
	bool empty = min32(min32(b->floor[0], b->floor[1]), min32(b->floor[2], b->floor[3])) == NO_RTT;
	u64 passed = (now - b->floor_begun) / BEST_BUCKET_NS;
	u32 i;

	/* The first bucket starts at a sample, not at the clock's origin. */
	if (empty || passed >= BEST_BUCKETS) {
		b->floor[0] = rtt;
		b->floor[1] = b->floor[2] = b->floor[3] = NO_RTT;
		b->floor_begun = now;
		return;
	}
	for (i = 0; i < BEST_BUCKETS && i < passed; i++) {
		b->floor[3] = b->floor[2];
		b->floor[2] = b->floor[1];
		b->floor[1] = b->floor[0];
		b->floor[0] = NO_RTT;
	}
	b->floor_begun += BEST_BUCKET_NS * passed;
	b->floor[0] = min32(b->floor[0], rtt);
}

INLINE u32 best_floor(const struct best *b)
{
	return min32(min32(b->floor[0], b->floor[1]), min32(b->floor[2], b->floor[3]));
}

INLINE void best_restart(struct interval *interval, u64 now)
{
	interval->start_ns = now;
	interval->bytes = 0;
}

/* An ACK whose bytes do not reflect the path's rate: measurement restarts here. */
INLINE void best_skip(struct best *b, u64 now)
{
	best_restart(&b->pair, now);
	best_restart(&b->open_chunk, now);
	b->last = now;
	b->seen = true;
}

/* Moving average with weight 1/8, initialised by the first sample. */
INLINE u64 best_average(u64 old, u64 new)
{
	return old ? old - old / 8 + new / 8 : new;
}

/* Period at which a return path releases bursts of ACKs. Pauses longer than a quarter of the RTT are due to the window. */
INLINE void best_on_gap(struct best *b, u64 now, u64 gap, u32 rtt_min)
{
	if (gap < max64(BEST_BURST_GAP_NS, b->burst_intra * 8)) {
		b->burst_intra = best_average(b->burst_intra, gap);
		return;
	}
	if (b->burst && now - b->burst_begun <= rtt_min / 4)
		b->burst_period = best_average(b->burst_period, now - b->burst_begun);
	b->burst_begun = now;
	b->burst = true;
}

/* Pairs and chunks. A chunk spans at least a sixteenth of an RTT plus a release period; otherwise its last burst would distort the rate. */
INLINE void best_on_arrival(struct best *b, u64 now, u64 bytes, u32 rtt_min)
{
	u64 chunk_span = max64(rtt_min / 16, min64(b->burst_period, rtt_min / 4)), gap = now - b->last, span;

	if (!b->seen) {
		best_skip(b, now);
		return;
	}
	if (gap > rtt_min / 8) {
		/* The first ACK after a silence only starts the clock: its bytes were not delivered during the silence. */
		if (b->open_chunk.bytes) {
			span = max64(b->last - b->open_chunk.start_ns, chunk_span);
			b->chunk = max64(b->chunk, rate_of(b->open_chunk.bytes, span));
		}
		best_restart(&b->pair, now);
		best_restart(&b->open_chunk, now);
	} else {
		b->pair.bytes += bytes;
		span = now - b->pair.start_ns;
		if (span >= BEST_COALESCE_NS) {
			histogram_add(&b->pairs, rate_of(b->pair.bytes, span));
			best_restart(&b->pair, now);
		}
		b->open_chunk.bytes += bytes;
		span = now - b->open_chunk.start_ns;
		if (span >= chunk_span) {
			b->chunk = max64(b->chunk, rate_of(b->open_chunk.bytes, span));
			best_restart(&b->open_chunk, now);
		}
	}
	best_on_gap(b, now, gap, rtt_min);
	b->last = now;
}

/* Ends the train on the receiver's clock, after a gap and at the end of a round. */
INLINE void best_close_train(struct best *b)
{
	u32 ticks = b->train_last - b->train_first;

	if (b->train && b->tick != TICK_UNUSABLE && ticks >= BEST_TS_MIN)
		b->clock = max64(b->clock, rate_of(b->train_bytes, (u64)ticks * b->tick_ms * 1000000));
	b->train = false;
}

INLINE void best_on_tick(struct best *b, u32 ts, u64 bytes)
{
	if (b->train) {
		/* In unsigned arithmetic a clock that runs backwards advances by a huge amount, which also ends the train. */
		if (ts - b->train_last <= BEST_TS_BREAK) {
			b->train_last = ts;
			b->train_bytes = (u32)min64(b->train_bytes + bytes, 0xffffffff);
			return;
		}
		best_close_train(b);
	}
	b->train = true;
	b->train_first = b->train_last = ts;
	/* Excludes the bytes of the first ACK. */
	b->train_bytes = 0;
}

INLINE bool best_tick_fits(u64 ms, u32 ticks, u64 span)
{
	u64 expected = ms * ticks * 1000000;

	return (expected > span ? expected - span : span - expected) <= expected / 4;
}

/* Checks once, over ten round trips, which of the usual tick lengths fits within a quarter. Until then, 1 ms is assumed. */
INLINE void best_check_tick(struct best *b, u64 now, u32 ts, u32 rtt_min)
{
	u64 span = now - b->tick_since;
	u32 ticks = ts - b->tick_first;

	if (b->tick == TICK_UNSEEN) {
		b->tick = TICK_ASSUMED;
		b->tick_since = now;
		b->tick_first = ts;
		return;
	}
	if (b->tick != TICK_ASSUMED || span < (u64)rtt_min * BEST_TICK_CHECK_RTTS)
		return;
	b->tick_ms = best_tick_fits(1, ticks, span) ? 1 : best_tick_fits(4, ticks, span) ? 4 : best_tick_fits(10, ticks, span) ? 10 : 0;
	b->tick = b->tick_ms ? TICK_CHECKED : TICK_UNUSABLE;
}

/* Detects a handover between low-orbit satellites: the RTT steps, or the rate settles at another level. */
INLINE bool best_path_changed(struct best *b)
{
	u32 lo = min32(b->round_min, b->round_min_prev), hi = max32(b->round_min, b->round_min_prev);

	if (hi != NO_RTT && hi - lo > BEST_RTT_STEP_NS)
		return true;
	if (!b->level) {
		/* While chunk rates grow from round to round, the window is the limit and there is no level yet. */
		if (b->chunk < b->chunk_prev * 5 / 4)
			b->level = b->chunk;
		return false;
	}
	if (b->chunk > b->level * 2 || b->chunk * 2 < b->level)
		b->off_level_rounds += b->off_level_rounds < 0xff;
	else
		b->off_level_rounds = 0;
	return b->off_level_rounds >= BEST_LEVEL_ROUNDS;
}

/* The median spacing rate, if there are enough samples and they have one mode (the middle tenth lies within a factor of two). */
INLINE enum best_outcome best_clear_median(const struct best *b, u64 *median)
{
	u64 low = histogram_quantile(&b->pairs, 45), high = histogram_quantile(&b->pairs, 55);

	*median = 0;
	if (b->pairs.offered < BEST_MIN_SAMPLES || !low)
		return BEST_FEW;
	if (high > low * 2)
		return BEST_AMBIGUOUS;
	*median = histogram_quantile(&b->pairs, 50);
	return BEST_SET;
}

/* The rate on which the estimators agree, or the reason why they disagree. */
INLINE enum best_outcome best_estimate(const struct best *b, enum best_outcome clear, u64 median, u64 *rate)
{
	bool growing = !b->chunk_prev || b->chunk >= b->chunk_prev * 5 / 4;

	/* The receiver's clock is trusted if two rounds agree and the chunk rate is not higher. */
	if (b->clock && b->clock_prev && rate_within_quarter(b->clock, b->clock_prev) && b->clock >= b->chunk * 4 / 5) {
		*rate = b->clock;
		return BEST_SET;
	}
	if (clear != BEST_SET)
		return clear;
	if (!b->median_prev || !rate_within_quarter(median, b->median_prev))
		return BEST_UNSTABLE;
	if (median > b->chunk * 2)
		return BEST_DISAGREE;
	/* Growing chunk rates are limited by the window. Once growth stops, they approximate the rate. */
	*rate = growing ? median : min64(median, b->chunk * 5 / 4);
	return BEST_SET;
}

/* The threshold derived from a rate, or the reason for having none. */
INLINE enum best_outcome best_judge(const struct best *b, u64 rate, u32 rtt_min, const struct ack *ack, const struct window *w, u32 *packets)
{
	u64 candidate = rate_bytes_in(rate, rtt_min) / max32(ack->mss, 1);
	u64 pacing = (min64(ack->pacing_rate, 1ull << 40) << RATE_SHIFT_PER_US) / 1000000;
	u64 apart = rate > pacing ? rate - pacing : pacing - rate;

	candidate = max64(candidate, max32(2 * b->search.c.initial_cwnd, BEST_FLOOR_PACKETS));
	*packets = (u32)min64(candidate, b->ceiling);
	if (b->round_min == NO_RTT || b->round_min > (u64)rtt_min + max32(rtt_min / 8, BEST_GUARD_NS))
		return BEST_INFLATED;
	/* Never below the window: an immediate exit is left to the fallback. */
	if (*packets < w->cwnd)
		return BEST_LATE;
	if (ack->paced && ack->pacing_rate && apart * 10 <= pacing)
		return BEST_PACER;
	return BEST_SET;
}

/* Evaluates a completed round: one outcome, and possibly a threshold. */
INLINE struct decision best_roll(struct best *b, u32 rtt_min, const struct ack *ack, const struct window *w)
{
	enum best_outcome clear, outcome;
	struct decision d = stay(0);
	u64 median, rate = 0;
	u32 packets = 0;

	best_close_train(b);
	if (best_path_changed(b)) {
		b->median_prev = b->clock_prev = b->chunk_prev = b->level = 0;
		b->off_level_rounds = 0;
	}
	/* A threshold set by others is never raised. */
	if (w->ssthresh != b->aim)
		b->ceiling = w->ssthresh;
	clear = best_clear_median(b, &median);
	outcome = best_estimate(b, clear, median, &rate);
	if (outcome == BEST_SET)
		outcome = best_judge(b, rate, rtt_min, ack, w, &packets);
	count_outcome(&b->search.c, outcome);

	b->median_prev = median;
	b->clock_prev = b->clock;
	b->chunk_prev = b->chunk;
	b->round_min_prev = b->round_min;
	b->clock = b->chunk = 0;
	b->round_min = NO_RTT;
	histogram_empty(&b->pairs);
	if (outcome == BEST_SET) {
		b->aim = packets;
		d.verdict = AIM;
		d.ssthresh = packets;
	}
	return d;
}

/* Runs on every ACK while armed. */
INLINE struct decision best_measure(struct best *b, const struct ack *ack, const struct window *w)
{
	u64 now = ack->now_us * 1000, bytes = (u64)ack->acked * ack->mss;
	struct decision d = stay(0);
	bool over = b->marked;
	u32 rtt_min;

	if (ack->rtt_us != NO_RTT)
		best_floor_update(b, now, best_rtt_ns(ack->rtt_us));
	rtt_min = best_floor(b);
	if (rtt_min == NO_RTT || rtt_min < BEST_RTT_OFF_NS)
		return d;
	/* The old round is evaluated first; the ACK that ends it belongs to the new one. */
	if (!over || !before(ack->una, b->mark)) {
		b->mark = ack->nxt;
		b->marked = true;
		if (over)
			d = best_roll(b, rtt_min, ack, w);
	}
	if (ack->rtt_us != NO_RTT)
		b->round_min = min32(b->round_min, best_rtt_ns(ack->rtt_us));
	if (ack->has_ts)
		best_check_tick(b, now, ack->receiver_ts, rtt_min);
	if (ack->app_limited || ack->sacked || ack->acked > BEST_HOLE_PACKETS) {
		best_skip(b, now);
		best_close_train(b);
		return d;
	}
	best_on_arrival(b, now, bytes, rtt_min);
	if (ack->has_ts)
		best_on_tick(b, ack->receiver_ts, bytes);
	return d;
}

/* SEARCH is always evaluated first and decides unless BEST does. */
INLINE struct decision best_sample(void *state, const struct ack *ack, const struct window *w)
{
	struct decision d = search_sample(state, ack, w);
	struct best *b = state;

	if (d.verdict != STAY)
		b->ended = true;
	return b->ended ? d : best_measure(b, ack, w);
}

INLINE u8 best_reached(void *state)
{
	struct best *b = state;

	b->ended = true;
	return b->aim < b->ceiling ? EXIT_ESTIMATE : EXIT_THRESHOLD;
}

/* A loss ends it; a timeout or an idle period restarts it. */
INLINE void best_on_congestion(void *state)
{
	struct best *b = state;

	b->saved_ended = b->ended;
	b->ended = true;
	search_on_congestion(state);
}

INLINE void best_restore(void *state)
{
	struct best *b = state;

	b->ended = b->saved_ended;
	search_restore(state);
}

static const struct startup best_hooks = {
	.number = ARM_BEST,
	.start = best_start,
	.sample = best_sample,
	.grow = search_grow,
	.reached = best_reached,
	.on_congestion = best_on_congestion,
	.restore = best_restore,
	.on_timeout = best_start,
	.on_idle = best_start,
};
#endif
