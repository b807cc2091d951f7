/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Transmission between the first sign of loss and its repair: PRR of RFC 9937, PRR of RFC 6937 with its three bounds, RFC 6675 and rate
 * halving, as in the core's recovery/prr.rs, sack.rs and rate_halving.rs. The kernel sends while fewer packets than the window are in
 * flight, so each policy returns a window.
 *
 * Departures: those of the core, and
 * K5 the kernel reports neither lost retransmissions nor the rescue retransmission: a lost retransmission causes no second reduction (the
 * core's option `lost=ignore`, and the behaviour of Linux), and an ACK before a rescue counts as progress.
 * K11 the window is at least one packet: with an empty pipe, one packet may leave where RFC 6937's conservation grants none.
 */
#ifndef FF_RECOVERY_H
#define FF_RECOVERY_H

#include "firstflight.h"

/* An ACK of an episode, including the one that opens it. */
struct progress {
	u32 delivered, newly_lost;
	u32 pipe; /* after this ACK, before it triggers transmissions */
	u32 out;  /* sent since the start of the episode */
	bool advanced; /* una moved */
	bool opening, marks; /* this ACK opens the episode; marks opened it */
};

/* State of an episode, for all policies. */
struct episode {
	u32 target;	/* T: the threshold at entry */
	u32 recover_fs; /* F: the flight at entry */
	u32 delivered;
	u32 cwnd;
	bool odd;	/* rate halving: one ACK of the pair has been seen */
};

/* State at the start of an episode: packets, after the ACK that opens it. */
struct entry {
	u32 target;
	u32 flight;    /* outstanding, including SACKed packets */
	u32 sacked;
	u32 delivered; /* by this ACK */
	u32 cwnd;      /* before the reduction */
};

/* RFC 6937: how fast the pipe may climb back to the target. */
enum bound { CRB, SSRB, UB };

struct policy {
	void (*enter)(struct episode *e, const struct entry *entry);
	void (*on_ack)(struct episode *e, const struct progress *p);
	/* The window to leave with. */
	u32 (*end)(const struct episode *e, u32 pipe);
};

INLINE void prr_open(struct episode *e, const struct entry *entry, u32 recover_fs)
{
	e->target = entry->target;
	e->recover_fs = max32(recover_fs, 1);
	e->delivered = 0;
	e->cwnd = entry->target;
}

/* RFC9937 6.1-1: outstanding before the ACK that opens it, minus the packets SACKed before. */
INLINE void prr_enter(struct episode *e, const struct entry *entry)
{
	prr_open(e, entry, entry->flight - entry->sacked + entry->delivered);
}

/* The line from F to T, rounded up, minus the packets sent. */
INLINE s64 prr_line(const struct episode *e, u32 out)
{
	return (s64)(((u64)e->delivered * e->target + e->recover_fs - 1) / e->recover_fs) - out;
}

INLINE void prr_grant(struct episode *e, const struct progress *p, s64 quota)
{
	/* The first retransmission leaves at once. */
	if (!p->out && quota <= 0)
		quota = 1;
	e->cwnd = p->pipe + (quota > 0 ? (u32)quota : 0);
}

/* RFC9937 6.2. */
INLINE void prr_on_ack(struct episode *e, const struct progress *p)
{
	s64 bank, quota;

	if (!p->delivered) {
		/* The window is constant: granted packets remain usable, and packets marked lost meanwhile leave room below it. An episode that
		 * opens this way is granted its first retransmission. */
		if (p->opening)
			e->cwnd = p->pipe + (p->marks ? 0 : 1);
		return;
	}
	e->delivered += p->delivered;
	bank = (s64)e->delivered - p->out;
	if (p->pipe > e->target) {
		quota = prr_line(e, p->out);
	} else {
		/* Conservation, plus one packet on an ACK that shows progress and no further loss. */
		quota = bank > (s64)p->delivered ? bank : p->delivered;
		if (p->advanced && !p->newly_lost)
			quota++;
		if (quota > (s64)(e->target - p->pipe))
			quota = e->target - p->pipe;
	}
	prr_grant(e, p, quota);
}

/* RFC6937 3-1: everything outstanding, including SACKed packets and limited transmit. */
INLINE void prr6937_enter(struct episode *e, const struct entry *entry)
{
	prr_open(e, entry, entry->flight);
}

/* RFC6937 3-2 to 3-4. An ACK that delivers nothing is not treated specially. */
INLINE void prr6937_on_ack(struct episode *e, const struct progress *p, enum bound bound)
{
	s64 bank, quota, room = (s64)e->target - p->pipe;

	e->delivered += p->delivered;
	bank = (s64)e->delivered - p->out;
	if (room < 0)
		quota = prr_line(e, p->out);
	else if (bound == CRB)
		quota = bank;
	else if (bound == SSRB)
		quota = (bank > (s64)p->delivered ? bank : p->delivered) + 1;
	else
		quota = room;
	if (room >= 0 && quota > room)
		quota = room;
	prr_grant(e, p, quota);
}

INLINE void crb_on_ack(struct episode *e, const struct progress *p) { prr6937_on_ack(e, p, CRB); }
INLINE void ssrb_on_ack(struct episode *e, const struct progress *p) { prr6937_on_ack(e, p, SSRB); }
INLINE void ub_on_ack(struct episode *e, const struct progress *p) { prr6937_on_ack(e, p, UB); }

INLINE u32 target_end(const struct episode *e, u32 pipe)
{
	return e->target;
}

/* RFC6675 5-C: the window equals the target at once. The first retransmission is sent regardless of the pipe. */
INLINE void sack_on_ack(struct episode *e, const struct progress *p)
{
	e->cwnd = p->out || p->marks ? e->target : max32(e->target, p->pipe + 1);
}

INLINE void rate_halving_enter(struct episode *e, const struct entry *entry)
{
	e->target = entry->target;
	e->cwnd = max32(entry->cwnd, 1);
	e->odd = false;
}

/* Every second ACK reduces the window by one packet, and the window exceeds the pipe by at most one. */
INLINE void rate_halving_on_ack(struct episode *e, const struct progress *p)
{
	if (!p->delivered && !p->advanced)
		return;
	if (e->odd && e->cwnd > max32(e->target, 2))
		e->cwnd--;
	e->odd = !e->odd;
	e->cwnd = min32(e->cwnd, p->pipe + 1);
}

/* The remaining window, often far below the target, and at most three packets above the pipe. */
INLINE u32 rate_halving_end(const struct episode *e, u32 pipe)
{
	return min32(min32(e->cwnd, e->target), pipe + 3);
}

static const struct policy prr = { .enter = prr_enter, .on_ack = prr_on_ack, .end = target_end };
static const struct policy prr_crb = { .enter = prr6937_enter, .on_ack = crb_on_ack, .end = target_end };
static const struct policy prr_ssrb = { .enter = prr6937_enter, .on_ack = ssrb_on_ack, .end = target_end };
static const struct policy prr_ub = { .enter = prr6937_enter, .on_ack = ub_on_ack, .end = target_end };
static const struct policy rfc6675 = { .enter = prr_enter, .on_ack = sack_on_ack, .end = target_end };
static const struct policy rate_halving = {
	.enter = rate_halving_enter,
	.on_ack = rate_halving_on_ack,
	.end = rate_halving_end,
};
#endif
