/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * What our controllers share. An arm is a startup in a file of its own: hooks on its own state, on one ACK and on the window, with the
 * names and in the order of the core crate. This file feeds the hooks from the kernel's callbacks, lets the kernel's CUBIC do congestion
 * avoidance, and reports how startup ended.
 *
 * Units are the kernel's: packets and microseconds. With a segment size of one byte the core computes in packets too, which is how the
 * differential tests hold both equal.
 *
 * Departures from the core:
 * K2 What slow start leaves over grows avoidance only if the window was full: kernel CUBIC asks again, above the threshold.
 * K1 The kernel's undo gives back a threshold of at least three quarters of the window; the core gives back the threshold it had.
 */
#ifndef FF_FIRSTFLIGHT_H
#define FF_FIRSTFLIGHT_H

#include "kernel.h"
#include "traced.h"

#define INLINE static inline __attribute__((always_inline))
/* The compiler shall not conclude that the test of an index is needless: the verifier does not see why. */
#define KEEP_BOUND(index) __asm__ volatile("" : "+r"(index))
#define OUTCOMES 8

#define NO_RTT ((u32)-1)
#define UNSET_SSTHRESH 0x7fffffffu
#define MAX_CWND (1u << 24)

INLINE u32 min32(u32 a, u32 b) { return a < b ? a : b; }
INLINE u32 max32(u32 a, u32 b) { return a > b ? a : b; }
INLINE u64 min64(u64 a, u64 b) { return a < b ? a : b; }
INLINE u64 max64(u64 a, u64 b) { return a > b ? a : b; }
/* Sequence numbers and times wrap. */
INLINE bool before(u32 a, u32 b) { return (s32)(a - b) < 0; }

/* The arms, by number, as reports name them. */
#define ARM(number, map, mode, state, hooks, kernel_name, name, outcomes, about) ARM_##number,
enum arm_number {
#include "arms.def"
};
#undef ARM

/* Why startup ended: the numbers of the core's ExitReason. */
enum reason {
	EXIT_NONE,
	EXIT_LOSS,
	EXIT_ECN,
	EXIT_TIMEOUT,
	EXIT_THRESHOLD,
	EXIT_TRAIN,
	EXIT_DELAY,
	EXIT_CSS_DONE,
	EXIT_LSS_TRIGGER,
	EXIT_FLATTENED,
	EXIT_ESTIMATE,
	/* Not an end: what was reported before was a false alarm. */
	EXIT_UNDONE,
};

/* One ACK, as the hooks see it. */
struct ack {
	u64 now_us;
	u32 acked;	     /* packets newly delivered */
	u32 lost;	     /* packets newly found lost; where recovery is ours */
	u32 rtt_us;	     /* NO_RTT: no sample */
	u32 una, nxt;	     /* bytes, wrapping */
	u32 delivered, sent; /* packets since the connection began, wrapping */
	u32 sacked;	     /* packets delivered out of order */
	u32 inflight;	     /* packets, after this ACK */
	u32 inflight_before; /* packets, before it */
	u32 mss;
	u32 srtt_x8_us;	     /* eight times the smoothed RTT; 0: none */
	u64 bytes_acked;     /* below una, since the connection began */
	u64 pacing_rate;     /* bytes per second; 0: not paced */
	u64 kept_rate;	     /* what the kernel keeps paced or not, as the ACK before left it: the samples come before it is renewed */
	u32 largest_burst;   /* bytes handed to the device at once at most */
	u32 ssthresh;	     /* packets */
	u32 most_out;	     /* packets, the most outstanding in this round while the window was not the limit */
	bool limited;	     /* the window was the limit; in slow start half of it in flight is limit enough */
	bool cwnd_limited;   /* the window was the limit in this round */
	bool paced;
	bool marked;	     /* it newly reports marks; where recovery is ours */
	bool app_limited;    /* the application had nothing more to send */
	bool has_ts;
	u32 receiver_ts;     /* the receiver's clock when it sent this ACK, in ticks */
};

struct window {
	u32 cwnd, ssthresh; /* packets */
};

/* What a hook concluded. */
enum verdict { STAY, AIM, HOLD, LEAVE };

struct decision {
	enum verdict verdict;
	enum reason reason;
	u32 ssthresh;	/* AIM, LEAVE */
	u32 cwnd;	/* HOLD, LEAVE; 0: as it is */
	u32 leftover;	/* growth hook: packets that slow start did not use */
	u64 estimate;	/* LEAVE: the number that decided: us or packets */
};

/* What every arm keeps per connection, in front of its own. */
struct common {
	u64 first_sent_us;	/* if something was `sent` */
	u32 rtt_us;		/* sample of the ACK in hand */
	u32 initial_cwnd;
	u32 delivered, acked;	/* up to the ACK in hand, and by it */
	u32 round_end, rounds;
	u32 detect_cwnd;	/* window when a congestion signal came */
	u32 detect_inflight;
	u8 reason;		/* how startup ended, EXIT_NONE while it has not */
	u8 undo_reason;		/* what `reason` was before the last congestion signal */
	bool can_undo;
	bool after_timeout;
	bool sent;
	u8 outcomes[OUTCOMES];	/* how often the startup's evaluations concluded what, in its own numbering */
};

/*
 * A startup: its hooks, on a state that begins with `struct common`. Hooks that are missing do nothing. The structure is constant and all
 * that uses it is inlined, so that no function pointer is left in the program.
 */
struct startup {
	u8 number;
	/* The connection starts: `nxt` is the first sequence number of data. */
	void (*start)(void *state, u64 now_us, u32 nxt);
	/* Every valid RTT sample, whatever the phase. */
	void (*on_rtt)(void *state, const struct ack *ack);
	/* Below the threshold and outside recovery, before losses of this ACK are looked at. */
	struct decision (*sample)(void *state, const struct ack *ack, const struct window *w);
	/* Below the threshold and outside recovery: opens the window for `acked` packets. Missing: as the kernel does. */
	struct decision (*grow)(void *state, const struct ack *ack, u32 acked, struct window *w);
	/* At or above the threshold: the window below which avoidance shall not leave us; 0 for none. */
	u32 (*beside_avoidance)(void *state, const struct ack *ack, u32 acked, u32 cwnd);
	/* The window met a threshold: the reason to report. */
	u8 (*reached)(void *state);
	/* Loss or marks. */
	void (*on_congestion)(void *state);
	/* That was a false alarm. */
	void (*restore)(void *state);
	void (*on_timeout)(void *state, u64 now_us, u32 nxt);
	/* Sending goes on after a long silence. */
	void (*on_idle)(void *state, u64 now_us, u32 nxt);
};

/* Told to whoever listens when startup ends. The layout is that of kernel/exits.rs. */
struct exit_record {
	u64 at_us;		/* boot time */
	u64 since_first_send_us;
	u64 estimate;
	u64 bytes_acked;
	u64 socket;		/* where it stands in the kernel's memory */
	u32 daddr;
	u32 detect_cwnd, cwnd, ssthresh, inflight, rounds, mss, srtt_us, min_rtt_us;
	u16 dport, lport;
	u8 reason;
	u8 arm;
	u8 outcomes[OUTCOMES];
	u8 pad[6];
};
_Static_assert(sizeof(struct exit_record) == 96, "the layout that user space reads");

INLINE u32 pipe_of(const struct tcp_sock *tp)
{
	return tp->packets_out - tp->sacked_out - tp->lost_out + tp->retrans_out;
}

INLINE bool in_slow_start(const struct tcp_sock *tp)
{
	return tp->snd_cwnd < tp->snd_ssthresh;
}

/* LINUX used-half: growth needs a window that was full in this round, in slow start one below twice the most outstanding. */
INLINE bool is_limited(const struct tcp_sock *tp)
{
	return CWND_LIMITED(tp) || (in_slow_start(tp) && tp->snd_cwnd < 2 * tp->max_packets_out);
}

INLINE void set_cwnd(struct tcp_sock *tp, u32 cwnd)
{
	u32 clamp = min32(tp->snd_cwnd_clamp, MAX_CWND);

	tp->snd_cwnd = max32(min32(cwnd, clamp), 1);
}

/* Opens the window up to the threshold; what was left over. */
INLINE u32 open_window(struct window *w, u32 packets)
{
	u32 room = w->ssthresh > w->cwnd ? w->ssthresh - w->cwnd : 0;
	u32 used = min32(packets, room);

	w->cwnd += used;
	return packets - used;
}

/* RFC5681 3.1-8: one packet per packet acknowledged. */
INLINE u32 double_window(const struct ack *ack, u32 acked, struct window *w)
{
	return ack->limited ? open_window(w, acked) : 0;
}

INLINE struct decision leave(enum reason reason, u32 ssthresh, u64 estimate)
{
	struct decision d = { .verdict = LEAVE, .reason = reason, .ssthresh = ssthresh, .estimate = estimate };

	return d;
}

INLINE struct decision stay(u32 leftover)
{
	struct decision d = { .verdict = STAY, .leftover = leftover };

	return d;
}

INLINE void fill_ack(struct ack *ack, const struct sock *sk, const struct common *c, u32 acked)
{
	const struct tcp_sock *tp = (const struct tcp_sock *)sk;

	ack->now_us = tp->tcp_mstamp;
	ack->acked = acked;
	ack->lost = 0;
	ack->marked = false;
	ack->srtt_x8_us = tp->srtt_us;
	ack->rtt_us = c->rtt_us;
	ack->una = tp->snd_una;
	ack->nxt = tp->snd_nxt;
	ack->delivered = tp->delivered;
	ack->sent = tp->data_segs_out;
	ack->sacked = tp->sacked_out;
	ack->inflight = pipe_of(tp);
	ack->inflight_before = ack->inflight + acked;
	ack->mss = tp->mss_cache;
	ack->bytes_acked = tp->bytes_acked;
	ack->cwnd_limited = CWND_LIMITED(tp);
	ack->ssthresh = tp->snd_ssthresh;
	ack->most_out = tp->max_packets_out;
	ack->limited = is_limited(tp);
	ack->paced = sk->sk_pacing_status != 0;
	ack->kept_rate = sk->sk_pacing_rate;
	ack->pacing_rate = ack->paced ? ack->kept_rate : 0;
	ack->largest_burst = sk->sk_gso_max_size;
	ack->app_limited = tp->app_limited != 0;
	ack->has_ts = SAW_TIME_STAMP(tp);
	ack->receiver_ts = tp->rx_opt.rcv_tsval;
}

#ifndef FF_NATIVE
#define OPERATION SEC("struct_ops")
#define SUBPROGRAM __attribute__((noinline))
/* cong_control takes (sk, rs) before Linux 6.10 and (sk, ack, flag, rs) since: the raw arguments are one word each. */
#define CONTROL_OPERATION(name)                                                                               \
	INLINE void name##_control(struct sock *sk, const struct rate_sample *rs);                            \
	OPERATION void name##_cong_control(u64 *arguments)                                                    \
	{                                                                                                     \
		if (has_four_arguments())                                                                     \
			name##_control((struct sock *)arguments[0], (struct rate_sample *)arguments[3]);      \
		else                                                                                          \
			name##_control((struct sock *)arguments[0], (struct rate_sample *)arguments[1]);      \
	}                                                                                                     \
	INLINE void name##_control(struct sock *sk, const struct rate_sample *rs)
/* Freed with its socket. */
#define STATE_OF_CONNECTIONS(arm, state)                                                                      \
	struct {                                                                                              \
		__uint(type, BPF_MAP_TYPE_SK_STORAGE);                                                        \
		__uint(map_flags, BPF_F_NO_PREALLOC);                                                         \
		__type(key, int);                                                                             \
		__type(value, struct state);                                                                  \
	} arm##_states SEC(".maps");
#define state_of(arm, sk) ((void *)bpf_sk_storage_get(&arm##_states, sk, NULL, 0))
#define new_state(arm, sk) ((void *)bpf_sk_storage_get(&arm##_states, sk, NULL, BPF_SK_STORAGE_GET_F_CREATE))
/* Registered under its name as long as whoever attached it lives. Flag 1: every user may choose it. */
#define OPERATIONS(arm, kernel_name, ...)                                                                     \
	SEC(".struct_ops.link")                                                                               \
	struct tcp_congestion_ops arm = {                                                                     \
		.flags = 1,                                                                                   \
		.name = kernel_name,                                                                          \
		.init = (void *)arm##_init,                                                                   \
		.ssthresh = (void *)arm##_ssthresh,                                                           \
		.undo_cwnd = (void *)arm##_undo_cwnd,                                                         \
		.set_state = (void *)arm##_set_state,                                                         \
		.cwnd_event = (void *)arm##_cwnd_event,                                                       \
		.cwnd_event_tx_start = (void *)arm##_cwnd_event_tx_start,                                     \
		__VA_ARGS__                                                                                   \
	};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} exits SEC(".maps");
#endif

/* Startup has ended, or did not after all. Only the first end counts. */
INLINE void report(struct sock *sk, struct common *c, u8 arm, u8 reason, u32 detect_cwnd, u32 inflight, u64 estimate)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct exit_record *record;

	if (reason == EXIT_UNDONE)
		c->reason = c->undo_reason;
	else if (c->reason == EXIT_NONE)
		c->reason = reason;
	else
		return;
	record = bpf_ringbuf_reserve(&exits, sizeof(*record), 0);
	if (!record)
		return;
	__builtin_memset(record, 0, sizeof(*record));
	record->at_us = tp->tcp_mstamp;
	record->since_first_send_us = c->sent ? tp->tcp_mstamp - c->first_sent_us : 0;
	record->estimate = estimate;
	record->bytes_acked = tp->bytes_acked;
	record->socket = (u64)(long)sk;
	record->daddr = sk->__sk_common.skc_daddr;
	record->dport = sk->__sk_common.skc_dport;
	record->lport = sk->__sk_common.skc_num;
	record->detect_cwnd = detect_cwnd;
	record->cwnd = tp->snd_cwnd;
	record->ssthresh = tp->snd_ssthresh;
	record->inflight = inflight;
	record->rounds = c->rounds;
	record->mss = tp->mss_cache;
	record->srtt_us = tp->srtt_us >> 3;
	record->reason = reason;
	record->arm = arm;
	__builtin_memcpy(record->outcomes, c->outcomes, OUTCOMES);
	bpf_ringbuf_submit(record, 0);
}

INLINE void common_init(struct sock *sk, struct common *c)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;

	c->rtt_us = NO_RTT;
	c->initial_cwnd = tp->snd_cwnd;
	c->delivered = tp->delivered;
	c->round_end = tp->snd_nxt;
	tp->snd_ssthresh = UNSET_SSTHRESH;
	CUBIC_FOUND(sk) = 1;
}

/* Does what a hook of slow start concluded; whether startup left. */
INLINE bool apply(struct sock *sk, struct common *c, u8 arm, const struct decision *d)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	u32 detected = tp->snd_cwnd;

	switch (d->verdict) {
	case STAY:
		return false;
	case AIM:
		tp->snd_ssthresh = max32(d->ssthresh, 2);
		return false;
	case HOLD:
		set_cwnd(tp, d->cwnd);
		return false;
	case LEAVE:
		break;
	}
	if (d->cwnd)
		set_cwnd(tp, d->cwnd);
	tp->snd_ssthresh = min32(max32(d->ssthresh, 2), max32(tp->snd_cwnd, 2));
	report(sk, c, arm, d->reason, detected, pipe_of(tp), d->estimate);
	return true;
}

INLINE void note_sent(struct sock *sk, struct common *c)
{
	if (!c->sent)
		c->first_sent_us = ((struct tcp_sock *)sk)->tcp_mstamp;
	c->sent = true;
}

INLINE void count_round(struct sock *sk, struct common *c)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;

	note_sent(sk, c);
	if (c->reason == EXIT_NONE && before(c->round_end, tp->snd_una)) {
		c->round_end = tp->snd_nxt;
		c->rounds++;
	}
}

/* The sample of the ACK in hand. While the kernel repairs, samples of repeats are not told apart and come in whole milliseconds. */
INLINE void take_sample(struct sock *sk, struct common *c, const struct ack_sample *sample)
{
	const struct tcp_sock *tp = (const struct tcp_sock *)sk;
	u8 state = CA_STATE(sk);

	c->rtt_us = sample->rtt_us < 0 || state >= CA_RECOVERY ? NO_RTT : (u32)sample->rtt_us;
	/* The sample counts what una passed, also what was delivered before it. */
	c->acked = tp->delivered - c->delivered;
	c->delivered = tp->delivered;
	count_round(sk, c);
}

INLINE void count_outcome(struct common *c, u32 outcome)
{
	KEEP_BOUND(outcome);
	if (outcome < OUTCOMES && c->outcomes[outcome] < 0xff)
		c->outcomes[outcome]++;
}

INLINE bool reducing(struct sock *sk)
{
	u8 state = CA_STATE(sk);

	return state == CA_CWR || state == CA_RECOVERY;
}

/* Kernel CUBIC keeps its RTT minimum from every sample, but its HyStart shall not look. */
INLINE void cubic_acked(struct sock *sk, const struct ack_sample *sample)
{
	CUBIC_FOUND(sk) = 1;
	cubictcp_acked(sk, sample);
}

INLINE void cubic_event(struct sock *sk, u32 event)
{
#ifndef FF_NATIVE
	if (have_cwnd_event)
		cubictcp_cwnd_event(sk, event);
#endif
}

INLINE void cubic_tx_start(struct sock *sk)
{
#ifndef FF_NATIVE
	if (have_tx_start)
		cubictcp_cwnd_event_tx_start(sk);
#endif
}

/* K2: avoidance grows by the rest of an ACK that slow start did not use. */
INLINE void grow_by_leftover(struct sock *sk, u32 una, u32 leftover)
{
#ifdef FF_NATIVE
	native_avoid(sk, leftover);
#else
	cubictcp_cong_avoid(sk, una, leftover);
#endif
}

INLINE u8 reached(const struct startup *startup, void *state)
{
	return startup->reached ? startup->reached(state) : EXIT_THRESHOLD;
}

/* The kernel enters CWR for a mark, and for a packet that a queue of its own host refused. */
INLINE u8 signal_reason(u8 state)
{
	return state == CA_CWR ? EXIT_ECN : state == CA_RECOVERY ? EXIT_LOSS : EXIT_TIMEOUT;
}

/* Recovery and pacing are the kernel's: mode_a.h. They are ours: mode_b.h. */
#endif
