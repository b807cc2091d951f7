/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Code shared by our controllers. Each arm is a startup in its own file: hooks that receive their own state, an ACK and the window, with
 * the names and in the order of the core crate. This file calls the hooks from the kernel's callbacks, leaves congestion avoidance to the
 * kernel's CUBIC, and reports how startup ended.
 *
 * Units are the kernel's: packets and microseconds. With a segment size of one byte the core also computes in packets, which lets the
 * differential tests compare both exactly.
 *
 * Departures from the core:
 * K2 The part of an ACK that slow start does not use grows avoidance only if the window was full: kernel CUBIC checks again above the
 * threshold.
 * K1 The kernel's undo restores a threshold of at least three quarters of the window; the core restores the old threshold.
 */
#ifndef FF_FIRSTFLIGHT_H
#define FF_FIRSTFLIGHT_H

#include "kernel.h"
#include "traced.h"

#define INLINE static inline __attribute__((always_inline))
/* Prevents the compiler from removing a bounds check of an index that the verifier needs. */
#define KEEP_BOUND(index) __asm__ volatile("" : "+r"(index))
#define OUTCOMES 8

#define NO_RTT ((u32)-1)
#define UNSET_SSTHRESH 0x7fffffffu
#define MAX_CWND (1u << 24)

INLINE u32 min32(u32 a, u32 b) { return a < b ? a : b; }
INLINE u32 max32(u32 a, u32 b) { return a > b ? a : b; }
INLINE u64 min64(u64 a, u64 b) { return a < b ? a : b; }
INLINE u64 max64(u64 a, u64 b) { return a > b ? a : b; }
/* Comparison of sequence numbers and times, which wrap. */
INLINE bool before(u32 a, u32 b) { return (s32)(a - b) < 0; }

/* Numbers of the arms, as in reports. */
#define ARM(number, map, mode, state, hooks, kernel_name, name, outcomes, about) ARM_##number,
enum arm_number {
#include "arms.def"
};
#undef ARM

/* Reason why startup ended: the numbers of the core's ExitReason. */
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
	/* Not an exit: the previous report was a false alarm. */
	EXIT_UNDONE,
};

/* An ACK as the hooks receive it. */
struct ack {
	u64 now_us;
	u32 acked;	     /* packets newly delivered */
	u32 lost;	     /* packets newly marked lost; only in mode B */
	u32 rtt_us;	     /* NO_RTT: no sample */
	u32 una, nxt;	     /* bytes, wrapping */
	u32 delivered, sent; /* packets since the start of the connection, wrapping */
	u32 sacked;	     /* packets delivered out of order */
	u32 inflight;	     /* packets, after this ACK */
	u32 inflight_before; /* packets, before it */
	u32 mss;
	u32 srtt_x8_us;	     /* eight times the smoothed RTT; 0: none */
	u64 bytes_acked;     /* below una, since the start of the connection */
	u64 pacing_rate;     /* bytes per second; 0: not paced */
	u64 kept_rate;	     /* the kernel's own rate, paced or not, as of the previous ACK: samples precede its update */
	u32 largest_burst;   /* maximum bytes handed to the device at once */
	u32 ssthresh;	     /* packets */
	u32 most_out;	     /* maximum packets outstanding in this round while the window was not the limit */
	bool limited;	     /* the window was the limit; in slow start, half of it in flight suffices */
	bool cwnd_limited;   /* the window was the limit in this round */
	bool paced;
	bool marked;	     /* it reports new marks; only in mode B */
	bool app_limited;    /* the application had nothing more to send */
	bool has_ts;
	u32 receiver_ts;     /* the receiver's clock when it sent this ACK, in ticks */
};

struct window {
	u32 cwnd, ssthresh; /* packets */
};

/* Decision of a hook. */
enum verdict { STAY, AIM, HOLD, LEAVE };

struct decision {
	enum verdict verdict;
	enum reason reason;
	u32 ssthresh;	/* AIM, LEAVE */
	u32 cwnd;	/* HOLD, LEAVE; 0: unchanged */
	u32 leftover;	/* growth hook: acknowledged packets that slow start did not use */
	u64 estimate;	/* LEAVE: the value that decided, us or packets */
};

/* State of every arm per connection, placed before its own. */
struct common {
	u64 first_sent_us;	/* valid if `sent` */
	u32 rtt_us;		/* sample of the current ACK */
	u32 initial_cwnd;
	u32 delivered, acked;	/* up to the current ACK, and by it */
	u32 round_end, rounds;
	u32 detect_cwnd;	/* window at the congestion signal */
	u32 detect_inflight;
	u8 reason;		/* how startup ended; EXIT_NONE while it runs */
	u8 undo_reason;		/* `reason` before the last congestion signal */
	bool can_undo;
	bool after_timeout;
	bool sent;
	u8 outcomes[OUTCOMES];	/* count of each outcome of the startup's evaluations, in its own numbering */
};

/*
 * A startup: its hooks, whose state starts with `struct common`. A missing hook does nothing. The structure is constant and every use is
 * inlined, so the program contains no function pointers.
 */
struct startup {
	u8 number;
	/* The connection starts: `nxt` is the first sequence number of data. */
	void (*start)(void *state, u64 now_us, u32 nxt);
	/* Called for every valid RTT sample in any phase. */
	void (*on_rtt)(void *state, const struct ack *ack);
	/* Below the threshold and outside recovery, before the losses of this ACK are processed. */
	struct decision (*sample)(void *state, const struct ack *ack, const struct window *w);
	/* Below the threshold and outside recovery: opens the window for `acked` packets. If missing, the kernel's growth applies. */
	struct decision (*grow)(void *state, const struct ack *ack, u32 acked, struct window *w);
	/* At or above the threshold: the minimum window that avoidance must keep; 0 for none. */
	u32 (*beside_avoidance)(void *state, const struct ack *ack, u32 acked, u32 cwnd);
	/* The window reached a threshold; returns the reason to report. */
	u8 (*reached)(void *state);
	/* Loss or marks. */
	void (*on_congestion)(void *state);
	/* The congestion signal was a false alarm. */
	void (*restore)(void *state);
	void (*on_timeout)(void *state, u64 now_us, u32 nxt);
	/* Sending resumes after a long pause. */
	void (*on_idle)(void *state, u64 now_us, u32 nxt);
};

/* Reported when startup ends. Layout of kernel/exits.rs. */
struct exit_record {
	u64 at_us;		/* boot time */
	u64 since_first_send_us;
	u64 estimate;
	u64 bytes_acked;
	u64 socket;		/* its kernel address */
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

/* LINUX used-half: growth needs a window that was full in this round; in slow start, less than twice the maximum outstanding suffices. */
INLINE bool is_limited(const struct tcp_sock *tp)
{
	return CWND_LIMITED(tp) || (in_slow_start(tp) && tp->snd_cwnd < 2 * tp->max_packets_out);
}

INLINE void set_cwnd(struct tcp_sock *tp, u32 cwnd)
{
	u32 clamp = min32(tp->snd_cwnd_clamp, MAX_CWND);

	tp->snd_cwnd = max32(min32(cwnd, clamp), 1);
}

/* Opens the window up to the threshold; returns the unused packets. */
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
/* Freed together with its socket. */
#define STATE_OF_CONNECTIONS(arm, state)                                                                      \
	struct {                                                                                              \
		__uint(type, BPF_MAP_TYPE_SK_STORAGE);                                                        \
		__uint(map_flags, BPF_F_NO_PREALLOC);                                                         \
		__type(key, int);                                                                             \
		__type(value, struct state);                                                                  \
	} arm##_states SEC(".maps");
#define state_of(arm, sk) ((void *)bpf_sk_storage_get(&arm##_states, sk, NULL, 0))
#define new_state(arm, sk) ((void *)bpf_sk_storage_get(&arm##_states, sk, NULL, BPF_SK_STORAGE_GET_F_CREATE))
/* Registered under its name while the attaching process lives. Flag 1: every user may select it. */
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

/* Reports that startup has ended, or that an exit was undone. Only the first exit counts. */
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

/* Carries out the decision of a slow-start hook; returns whether startup ended. */
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

/* The sample of the current ACK. During recovery the kernel does not mark samples of retransmissions, which are in whole milliseconds. */
INLINE void take_sample(struct sock *sk, struct common *c, const struct ack_sample *sample)
{
	const struct tcp_sock *tp = (const struct tcp_sock *)sk;
	u8 state = CA_STATE(sk);

	c->rtt_us = sample->rtt_us < 0 || state >= CA_RECOVERY ? NO_RTT : (u32)sample->rtt_us;
	/* The sample counts everything that una passed, including packets delivered earlier. */
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

/* Kernel CUBIC updates its RTT minimum from every sample, but its HyStart must not act. */
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

/* K2: avoidance grows by the part of an ACK that slow start did not use. */
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

/* The kernel enters CWR for a mark, and for a packet rejected by a queue of the local host. */
INLINE u8 signal_reason(u8 state)
{
	return state == CA_CWR ? EXIT_ECN : state == CA_RECOVERY ? EXIT_LOSS : EXIT_TIMEOUT;
}

/* The kernel controls recovery and pacing in mode_a.h; our code does in mode_b.h. */
#endif
