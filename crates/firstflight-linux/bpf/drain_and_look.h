/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Drain and look: whose queue is it? The sender lands at what the path holds, waits until a queue of its own must be gone, and looks at the
 * RTT again for half a round trip; as the core's signal/drain_and_look.rs.
 */
#ifndef FF_DRAIN_AND_LOOK_H
#define FF_DRAIN_AND_LOOK_H

#include "sounding.h"

enum landing { LANDING_NONE, LANDING_DRAINS, LANDING_LOOKS };
enum finding { FOUND_NOTHING, FOUND_OURS, FOUND_OTHERS };

struct drain_and_look {
	u64 before;   /* the window before the landing, bytes */
	u64 rise;     /* RTT above the smallest, ns */
	u64 least;    /* smallest RTT while looking */
	u64 until_ns; /* it looks */
	u32 until;    /* it drains */
	u8 state;
};

INLINE void landing_begin(struct drain_and_look *d, u32 until, u64 before, u64 rise)
{
	d->state = LANDING_DRAINS;
	d->until = until;
	d->before = before;
	d->rise = rise;
}

/* Ends it without a finding; the window before the landing, 0 if none was judged. */
INLINE u64 landing_abort(struct drain_and_look *d)
{
	bool active = d->state != LANDING_NONE;

	d->state = LANDING_NONE;
	return active ? d->before : 0;
}

/* One ACK; `slack` is the RTT that the landing itself may keep above the smallest, `min`. */
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
	/* PLUMB 4-look: more than half of the rise is still there. */
	return above(d->least, min) > d->rise / 2 + slack ? FOUND_OTHERS : FOUND_OURS;
}
#endif
