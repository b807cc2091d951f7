/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Bunches: whether ACKs arrive as the path delivers, or are held back and released together, as in the core's signal/bunches.rs. The
 * kernel's pacer has a granularity of one millisecond (2^20 ns) of its rate: the packets of such a segment leave back to back.
 */
#ifndef FF_BUNCHES_H
#define FF_BUNCHES_H

#include "sounding.h"

#define BUNCHES_ENOUGH 8 /* packets */
#define BUNCHES_SQUEEZE 4
#define BUNCHES_GRAIN_NS 1200000
#define BUNCHES_LUMP 4 /* packets */

struct bunches {
	struct arrival last;
	u32 bunched, all; /* packets of this round */
	bool seen;
};

INLINE void bunches_on_arrival(struct bunches *b, const struct arrival *e, u64 min)
{
	u64 came = e->at - b->last.at, left = above(above(e->at, e->rtt), above(b->last.at, b->last.rtt));
	u32 packets = e->delivered - b->last.delivered;
	bool seen = b->seen;

	b->last = *e;
	b->seen = true;
	if (!seen)
		return;
	b->all += packets;
	/* PLUMB 5-bunch: compressed on the return path, or many after a gap of a quarter of the round trip. */
	if ((left > BUNCHES_GRAIN_NS && left >= came * BUNCHES_SQUEEZE) || (came >= min / 4 && packets > BUNCHES_LUMP))
		b->bunched += packets;
}

/* Whether enough packets were acknowledged to evaluate the round. */
INLINE bool bunches_enough(const struct bunches *b)
{
	return b->all >= BUNCHES_ENOUGH;
}

/* PLUMB 5-share: more than a quarter of the acknowledged packets. */
INLINE bool bunches_many(const struct bunches *b)
{
	return (u64)b->bunched * 4 > b->all;
}

INLINE void bunches_next_round(struct bunches *b)
{
	b->bunched = b->all = 0;
}
#endif
