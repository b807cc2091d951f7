/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * HyStart as in Linux: slow start ends when a train of ACKs becomes as long as the path, or when a round's smallest RTT exceeds that of the
 * connection by an eighth. This is the control arm: the behaviour of kernel CUBIC alone, plus reports.
 *
 * Follows: the behaviour of Linux since January 2025, as in the core's startup/hystart.rs with its Linux profile. Departures: those of
 * the core, and
 * K3 samples in the first second of a CUBIC epoch are used; in slow start before the first congestion there is no epoch.
 */
#ifndef FF_HYSTART_H
#define FF_HYSTART_H

#include "firstflight.h"

#define HYSTART_LOW_WINDOW 16
#define HYSTART_SAMPLES 8
#define HYSTART_TRAIN_GAP_US 2000
#define HYSTART_MAX_ACK_DELAY_US 1000
/* One burst on the wire and one queued, doubled because pacing runs at about twice cwnd / srtt. */
#define HYSTART_BURSTS 4

struct hystart {
	struct common c;
	u64 round_start_us, last_ack_us;
	u32 min_rtt_us;	      /* of the connection; NO_RTT: none */
	u32 round_min_us;
	u32 end;	      /* the round ends strictly after it */
	u8 samples;
	bool found, saved_found;
};

INLINE void hystart_begin(struct hystart *s, u64 now_us, u32 end)
{
	s->round_start_us = now_us;
	s->last_ack_us = now_us;
	s->end = end;
	s->round_min_us = NO_RTT;
	s->samples = 0;
}

INLINE void hystart_start(void *state, u64 now_us, u32 nxt)
{
	struct hystart *s = state;

	s->min_rtt_us = NO_RTT;
	hystart_begin(s, now_us, nxt);
}

INLINE void hystart_on_rtt(void *state, const struct ack *ack)
{
	struct hystart *s = state;

	s->min_rtt_us = min32(s->min_rtt_us, max32(ack->rtt_us, 1));
}

/* Length that batching may add to a train, ns: four bursts at the rate that the kernel maintains with or without a pacer, at most 1 ms;
 * 0 without a rate. */
INLINE u64 hystart_ack_delay_ns(const struct ack *ack)
{
	u64 burst = (u64)ack->largest_burst * HYSTART_BURSTS * 1000000000ull;

	return ack->kept_rate ? min64(burst / ack->kept_rate, HYSTART_MAX_ACK_DELAY_US * 1000) : 0;
}

/* The length of the train in us, if it exceeds the limit. Too long a gap ends the train for the rest of the round. */
INLINE u64 hystart_train(struct hystart *s, const struct ack *ack)
{
	u64 length, path_ns = (u64)s->min_rtt_us * 1000 + hystart_ack_delay_ns(ack);

	if (ack->now_us - s->last_ack_us > HYSTART_TRAIN_GAP_US)
		return 0;
	s->last_ack_us = ack->now_us;
	length = ack->now_us - s->round_start_us;
	/* Pacing alone spreads the window over half an RTT; without it, half an RTT of ACKs means a full path. */
	return length * 1000 > (ack->paced ? path_ns : path_ns / 2) ? length : 0;
}

/* Whether the round's minimum exceeds the connection's by more than an eighth (at least 4 ms, at most 16 ms). */
INLINE bool hystart_delay(struct hystart *s, u32 rtt_us)
{
	u64 rise_x8 = max64(min64(s->min_rtt_us, 8 * 16000), 8 * 4000);
	bool enough = s->samples >= HYSTART_SAMPLES;

	s->round_min_us = min32(s->round_min_us, rtt_us);
	if (!enough)
		s->samples++;
	return enough && 8 * (u64)s->round_min_us > 8 * (u64)s->min_rtt_us + rise_x8;
}

INLINE struct decision hystart_sample(void *state, const struct ack *ack, const struct window *w)
{
	struct hystart *s = state;
	bool rose;
	u64 train;

	if (ack->rtt_us == NO_RTT || s->found)
		return stay(0);
	if (before(s->end, ack->una))
		hystart_begin(s, ack->now_us, ack->nxt);
	if (w->cwnd < HYSTART_LOW_WINDOW)
		return stay(0);
	train = hystart_train(s, ack);
	rose = hystart_delay(s, max32(ack->rtt_us, 1));
	if (!train && !rose)
		return stay(0);
	s->found = true;
	return train ? leave(EXIT_TRAIN, w->cwnd, train) : leave(EXIT_DELAY, w->cwnd, s->round_min_us);
}

INLINE struct decision hystart_grow(void *state, const struct ack *ack, u32 acked, struct window *w)
{
	return stay(double_window(ack, acked, w));
}

INLINE void hystart_on_congestion(void *state)
{
	struct hystart *s = state;

	s->saved_found = s->found;
}

INLINE void hystart_restore(void *state)
{
	struct hystart *s = state;

	s->found = s->saved_found;
}

/* The path may have changed: detection restarts. */
INLINE void hystart_on_timeout(void *state, u64 now_us, u32 nxt)
{
	struct hystart *s = state;

	s->found = false;
	hystart_start(state, now_us, nxt);
}

static const struct startup hystart_hooks = {
	.number = ARM_HYSTART,
	.start = hystart_start,
	.on_rtt = hystart_on_rtt,
	.sample = hystart_sample,
	.grow = hystart_grow,
	.on_congestion = hystart_on_congestion,
	.restore = hystart_restore,
	.on_timeout = hystart_on_timeout,
};
#endif
