/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * BEST as published: starting at a window of 16 packets, every ACK yields a rate: bytes acknowledged over the time since the last ACK. At
 * the end of rounds 4 to 7, the round's median in whole Mbit/s times one RTT sample becomes the slow-start threshold, once per connection.
 *
 * Follows: the BEST slides (NetDev 0x16, October 2022), as in the core's startup/best_published.rs, including its wrapping arithmetic.
 * Departures: those of the core, and K3 of hystart.h.
 */
#ifndef FF_BEST_PUBLISHED_H
#define FF_BEST_PUBLISHED_H

#include "firstflight.h"

#define PUBLISHED_CAPACITY 300
#define PUBLISHED_MIN_ROUND 3
#define PUBLISHED_LAST_ROUND 7
#define PUBLISHED_LOW_WINDOW 16

struct best_published {
	struct common c;
	u32 seen_round_start, round_start, last_ack; /* us, wrapping */
	u32 prev_bytes, curr_rtt_us, end_seq;
	u16 n;
	u8 rtt_round;
	bool found;
	bool judged; /* `seen_round_start` is valid, since zero is a valid time */
	u16 rates[PUBLISHED_CAPACITY]; /* Mbit/s, in ascending order */
};

INLINE void published_start(void *state, u64 now_us, u32 nxt)
{
	struct best_published *s = state;

	s->n = 0;
	s->rtt_round = 0;
	s->found = false;
	s->judged = false;
	s->round_start = (u32)now_us;
	s->last_ack = (u32)now_us;
	s->prev_bytes = 0;
	s->curr_rtt_us = NO_RTT;
	s->end_seq = nxt;
}

/* Inserts the rate into the sorted list, after equal rates. */
INLINE void published_insert(struct best_published *s, u16 rate)
{
	u32 i, n = s->n;
	u16 carried = rate;

	if (s->found || n >= PUBLISHED_CAPACITY)
		return;
	for (i = 0; i < PUBLISHED_CAPACITY; i++) {
		u16 here = s->rates[i];

		if (i >= n)
			break;
		s->rates[i] = here > carried ? carried : here;
		carried = here > carried ? here : carried;
	}
	if (n < PUBLISHED_CAPACITY)
		s->rates[n] = carried;
	s->n = n + 1;
}

/* The lower median; 0 if the round is empty. */
INLINE u16 published_median(const struct best_published *s)
{
	u32 half = (u32)s->n * 50;
	u32 at = half % 100 ? half / 100 : half / 100 - 1;

	return s->n && at < PUBLISHED_CAPACITY ? s->rates[at] : 0;
}

/* Evaluates a round at the first sampled ACK after its end; sets the threshold in packets if the round decides. */
INLINE bool published_end_round(struct best_published *s, u32 mss, u16 *packets)
{
	u16 median = published_median(s);
	bool due = !s->found && s->rtt_round > PUBLISHED_MIN_ROUND && s->rtt_round <= PUBLISHED_LAST_ROUND && median;

	if (due) {
		s->found = true;
		*packets = (u16)((u32)median * s->curr_rtt_us / max32(mss * 8, 1));
	}
	s->n = 0;
	s->rtt_round++;
	s->judged = true;
	s->seen_round_start = s->round_start;
	return due;
}

INLINE struct decision published_sample(void *state, const struct ack *ack, const struct window *w)
{
	struct best_published *s = state;
	struct decision d = stay(0);
	u32 rtt, us, now = (u32)ack->now_us;
	u16 packets = 0;

	if (ack->rtt_us == NO_RTT || w->cwnd < PUBLISHED_LOW_WINDOW)
		return d;
	rtt = max32(ack->rtt_us, 1);
	if (s->curr_rtt_us == 0 || rtt < s->curr_rtt_us)
		s->curr_rtt_us = rtt;
	if ((!s->judged || s->round_start != s->seen_round_start) && published_end_round(s, ack->mss, &packets)) {
		if (packets > w->cwnd) {
			d.verdict = AIM;
			d.ssthresh = packets;
		} else {
			/* The window already exceeds the estimate. There is no minimum. */
			d = leave(EXIT_ESTIMATE, packets, packets);
		}
	}
	us = now - s->last_ack;
	published_insert(s, us ? (u16)(((u32)ack->bytes_acked - s->prev_bytes) * 8 / us) : 0);
	s->prev_bytes = (u32)ack->bytes_acked;
	s->last_ack = now;
	return d;
}

INLINE struct decision published_grow(void *state, const struct ack *ack, u32 acked, struct window *w)
{
	struct best_published *s = state;

	/* Not while the window is not fully used. The ACK that crosses the threshold was already counted above. */
	if (ack->limited && before(s->end_seq, ack->una)) {
		s->round_start = (u32)ack->now_us;
		s->last_ack = s->round_start;
		s->end_seq = ack->nxt;
		s->curr_rtt_us = NO_RTT;
	}
	return stay(double_window(ack, acked, w));
}

INLINE u8 published_reached(void *state)
{
	return ((struct best_published *)state)->found ? EXIT_ESTIMATE : EXIT_THRESHOLD;
}

static const struct startup best_published_hooks = {
	.number = ARM_BEST_PUBLISHED,
	.start = published_start,
	.sample = published_sample,
	.grow = published_grow,
	.reached = published_reached,
	/* Resets the state, including the decision. */
	.on_timeout = published_start,
};
#endif
