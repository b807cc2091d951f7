/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Rapid Start's own recovery: the window shrinks with every packet acknowledged or lost and lands at beta times the data that the path
 * delivered, as in the core's recovery/rapid_recovery.rs with K = 2/3 and CUBIC's beta. In packets, or in bytes (`packet` per packet).
 */
#ifndef FF_RAPID_RECOVERY_H
#define FF_RAPID_RECOVERY_H

#include "mode_b.h"

/* Acknowledged packets contribute K = 2/3 of the reduction. With the denominator 3 * BETA_DEN: a = K(1-beta), s = l = beta + a. */
#define RAPID_A (2 * (BETA_DEN - BETA_NUM))
#define RAPID_S (3 * BETA_NUM + RAPID_A)
#define RAPID_UNIT (3 * BETA_DEN)

struct rapid_recovery {
	u64 acked, lost, pre, floor, cwnd;
};

INLINE u64 beta_of(u64 amount)
{
	return amount * BETA_NUM / BETA_DEN;
}

INLINE void rapid_recovery_enter(struct rapid_recovery *r, u64 pre, u64 initial, u32 packet)
{
	u64 least = 2 * (u64)packet;

	r->pre = r->cwnd = max64(pre, least);
	r->acked = r->lost = 0;
	/* RAPID 3.3-floor: a third of beta times the entry window, and beta times the initial window. */
	r->floor = max64(max64(beta_of(min64(initial, r->pre)), beta_of(r->pre) / 3), least);
}

/* RAPID 3.3.1-1: s * pre - a * acked - l * lost, from totals; never increases and never falls below the floor. */
INLINE u64 rapid_recovery_account(struct rapid_recovery *r, u64 acked, u64 lost, bool last)
{
	u64 all = RAPID_S * r->pre, gone = r->acked + r->lost + lost;

	/* RAPID 3.3.1-flight: the ACK that ends it accounts for the rest of the flight at entry, not for packets sent since. */
	if (last)
		acked = min64(acked, r->pre > gone ? r->pre - gone : 0);
	r->acked += acked;
	r->lost += lost;
	gone = RAPID_A * r->acked + RAPID_S * r->lost;
	r->cwnd = min64(r->cwnd, max64(all > gone ? (all - gone) / RAPID_UNIT : 0, r->floor));
	return r->cwnd;
}
#endif
