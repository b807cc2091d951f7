/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The kernel's interface when the controllers are compiled natively for the tests: a connection is a single structure, its functions are
 * plain C, and native.c replaces the kernel's.
 */
#ifndef FF_NATIVE_H
#define FF_NATIVE_H

#define STATE_WORDS 128

struct exit_record;

struct connection {
	struct tcp_sock tp;
	u64 state[STATE_WORDS]; /* of the arm */
	u32 cong_avoid_credit;
	u32 last_max_cwnd;
	u8 found;
};

struct arm {
	const char *name;
	void (*init)(struct sock *sk);
	void (*release)(struct sock *sk);
	u32 (*ssthresh)(struct sock *sk);
	u32 (*undo_cwnd)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, u32 ack, u32 acked);
	void (*cong_control)(struct sock *sk, const struct rate_sample *rs);
	void (*set_state)(struct sock *sk, u8 state);
	void (*cwnd_event)(struct sock *sk, u32 event);
	void (*cwnd_event_tx_start)(struct sock *sk);
	void (*pkts_acked)(struct sock *sk, const struct ack_sample *sample);
	u32 (*min_tso_segs)(struct sock *sk);
};

#define OPERATION static
#define SUBPROGRAM static
#define CONTROL_OPERATION(name) static void name##_cong_control(struct sock *sk, const struct rate_sample *rs)
#define BPF_PROG(name, ...) name(__VA_ARGS__)
#define STATE_OF_CONNECTIONS(arm, type) _Static_assert(sizeof(struct type) <= 8 * STATE_WORDS, "state of " #arm);
#define state_of(arm, sk) ((void *)((struct connection *)(sk))->state)
#define new_state(arm, sk) state_of(arm, sk)
#define OPERATIONS(arm_name, kernel_name, ...)                                                                \
	const struct arm arm_name = {                                                                         \
		.name = kernel_name,                                                                          \
		.init = arm_name##_init,                                                                      \
		.ssthresh = arm_name##_ssthresh,                                                              \
		.undo_cwnd = arm_name##_undo_cwnd,                                                            \
		.set_state = arm_name##_set_state,                                                            \
		.cwnd_event = arm_name##_cwnd_event,                                                          \
		.cwnd_event_tx_start = arm_name##_cwnd_event_tx_start,                                        \
		__VA_ARGS__                                                                                   \
	};

#define CA_STATE(sk) (((struct tcp_sock *)(sk))->inet_conn.icsk_ca_state)
#define CWND_LIMITED(tp) ((tp)->is_cwnd_limited)
#define SAW_TIME_STAMP(tp) ((tp)->rx_opt.saw_tstamp)
#define CUBIC_FOUND(sk) (((struct connection *)(sk))->found)
#define CUBIC_LAST_MAX(sk) (((struct connection *)(sk))->last_max_cwnd)

/* The last report, instead of the ring buffer. */
extern _Thread_local struct exit_record exits;
#define bpf_ringbuf_reserve(ring, size, flags) (ring)
#define bpf_ringbuf_submit(record, flags) ((void)(record))

void cubictcp_init(struct sock *sk);
u32 cubictcp_recalc_ssthresh(struct sock *sk);
void cubictcp_cong_avoid(struct sock *sk, u32 ack, u32 acked);
/* The same, without checking whether the window was the limit. */
void native_avoid(struct sock *sk, u32 acked);
void cubictcp_state(struct sock *sk, u8 state);
void cubictcp_acked(struct sock *sk, const struct ack_sample *sample);
u32 tcp_reno_undo_cwnd(struct sock *sk);

/* The saved parameters, instead of the map by destination. */
bool take_saved(struct sock *sk, u32 *cwnd, u32 *rtt_us);
void give_back(struct sock *sk, bool used, bool refuted, u32 cwnd, u32 rtt_us, bool at_least);

#endif
