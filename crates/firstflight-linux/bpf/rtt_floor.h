/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The smallest RTT of roughly the last round trip, in four slots of a quarter of the smallest RTT, as in the core's signal/rtt_floor.rs.
 */
#ifndef FF_RTT_FLOOR_H
#define FF_RTT_FLOOR_H

#include "firstflight.h"

#define FLOOR_SLOTS 4
#define NO_SAMPLE (~0ull)

struct rtt_floor {
	u64 min_ns; /* of the connection; NO_SAMPLE: none */
	u64 slots_ns[FLOOR_SLOTS]; /* the newest first */
	u64 slot_start_ns;
};

INLINE void rtt_floor_empty(struct rtt_floor *f, u64 now_ns)
{
	u32 i;

	for (i = 0; i < FLOOR_SLOTS; i++)
		f->slots_ns[i] = NO_SAMPLE;
	f->slot_start_ns = now_ns;
}

INLINE void rtt_floor_start(struct rtt_floor *f, u64 now_ns)
{
	f->min_ns = NO_SAMPLE;
	rtt_floor_empty(f, now_ns);
}

INLINE void rtt_floor_shift(struct rtt_floor *f)
{
	f->slots_ns[3] = f->slots_ns[2];
	f->slots_ns[2] = f->slots_ns[1];
	f->slots_ns[1] = f->slots_ns[0];
	f->slots_ns[0] = NO_SAMPLE;
}

/* Adds a sample, in any phase. */
INLINE void rtt_floor_on_rtt(struct rtt_floor *f, const struct ack *ack)
{
	u64 rtt_ns = (u64)ack->rtt_us * 1000, now_ns = ack->now_us * 1000, slot, behind;

	f->min_ns = min64(f->min_ns, rtt_ns);
	slot = max64(f->min_ns / FLOOR_SLOTS, 1);
	behind = (now_ns - f->slot_start_ns) / slot;
	if (behind >= FLOOR_SLOTS) {
		rtt_floor_empty(f, now_ns);
	} else {
		if (behind > 0)
			rtt_floor_shift(f);
		if (behind > 1)
			rtt_floor_shift(f);
		if (behind > 2)
			rtt_floor_shift(f);
		f->slot_start_ns += slot * behind;
	}
	f->slots_ns[0] = min64(f->slots_ns[0], rtt_ns);
}

/* The smallest of the last round trip; NO_SAMPLE if there was none. */
INLINE u64 rtt_floor_ns(const struct rtt_floor *f)
{
	return min64(min64(f->slots_ns[0], f->slots_ns[1]), min64(f->slots_ns[2], f->slots_ns[3]));
}

/* RAPID 3.2-3: the largest RTT that does not indicate a queue. */
INLINE u64 rtt_floor_threshold(u64 min_ns)
{
	return min64(min_ns + 4000000, min_ns * 11 / 10);
}
#endif
