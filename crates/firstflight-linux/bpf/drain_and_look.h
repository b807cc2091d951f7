/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Drain and look: determines whether a queue is the sender's own. The sender lowers its window to the path's capacity, waits until its own
 * queue must have drained, and then observes the RTT for half a round trip; as in the core's signal/drain_and_look.rs.
 */
#ifndef FF_DRAIN_AND_LOOK_H
#define FF_DRAIN_AND_LOOK_H

#include "sounding.h"

enum landing { LANDING_NONE, LANDING_DRAINS, LANDING_LOOKS };
enum finding { FOUND_NOTHING, FOUND_OURS, FOUND_OTHERS };

struct drain_and_look {
	u64 before;   /* the window before the landing, bytes */
	u64 rise;     /* RTT minus the smallest RTT, ns */
	u64 least;    /* smallest RTT while observing */
	u64 until_ns; /* end of the observation */
	u32 until;    /* end of the drain */
	u8 state;
};

INLINE void landing_begin(struct drain_and_look *d, u32 until, u64 before, u64 rise)
{
	d->state = LANDING_DRAINS;
	d->until = until;
	d->before = before;
	d->rise = rise;
}

/* Ends it without a result; returns the window before the landing, or 0 if there was no landing. */
INLINE u64 landing_abort(struct drain_and_look *d)
{
	bool active = d->state != LANDING_NONE;

	d->state = LANDING_NONE;
	return active ? d->before : 0;
}

/* Processes an ACK; `slack` is the RTT above the smallest, `min`, that the landing itself may leave. */
INLINE enum finding landing_on_ack(struct drain_and_look *d, const struct ack *ack, u64 min, u64 slack)
{
	u64 now = ack->now_us * 1000, rtt = ack->rtt_us == NO_RTT ? ~0ull : (u64)ack->rtt_us * 1000;

	if (d->state == LANDING_DRAINS) {
		if (!before(ack->una, d->until)) {
			d->state = LANDING_LOOKS;
			d->until_ns = now + min / 2;
			d->least = rtt;
		}
		return FOUND_NOTHING;
	}
	if (d->state != LANDING_LOOKS)
		return FOUND_NOTHING;
	d->least = min64(d->least, rtt);
	if (now < d->until_ns || d->least == ~0ull)
		return FOUND_NOTHING;
	d->state = LANDING_NONE;
	/* PLUMB 4-look: more than half of the increase remains. */
	return above(d->least, min) > d->rise / 2 + slack ? FOUND_OTHERS : FOUND_OURS;
}
#endif
