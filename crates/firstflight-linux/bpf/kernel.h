/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The parts of the kernel that our controllers use: only the structures and members needed. For BPF, clang records the member names and
 * the loader inserts the offsets of the running kernel (CO-RE), so one object works on all kernels. For the tests, the same controllers
 * are compiled natively (FF_NATIVE) with these structures as they are, and native.c provides the kernel's functions.
 */
#ifndef FF_KERNEL_H
#define FF_KERNEL_H

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef signed char __s8;
typedef short __s16;
typedef int __s32;
typedef long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u64 __be64;
typedef __u32 __wsum;
typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s32 s32;
typedef __s64 s64;
typedef _Bool bool;
#define true 1
#define false 0
#define NULL ((void *)0)

#ifndef FF_NATIVE
enum { BPF_MAP_TYPE_HASH = 1, BPF_MAP_TYPE_ARRAY = 2, BPF_MAP_TYPE_LRU_HASH = 9, BPF_MAP_TYPE_SK_STORAGE = 24, BPF_MAP_TYPE_RINGBUF = 27 };
enum { BPF_ANY = 0, BPF_F_NO_PREALLOC = 1, BPF_SK_STORAGE_GET_F_CREATE = 1 };
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
#endif

struct in6_addr {
	union {
		__be32 u6_addr32[4];
	} in6_u;
};

struct sock_common {
	__be32 skc_daddr;
	__be16 skc_dport;
	__u16 skc_num;
	unsigned short skc_family;
	volatile __u8 skc_state;
	struct in6_addr skc_v6_daddr;
	struct {
		__s64 counter;
	} skc_cookie; /* unique among all sockets, for all time */
};

struct sock {
	struct sock_common __sk_common;
	unsigned long sk_pacing_rate; /* bytes per second */
	unsigned long sk_max_pacing_rate;
	__u32 sk_pacing_status; /* 0: not paced, 1: by TCP's own timer, 2: by an fq qdisc */
	unsigned int sk_gso_max_size; /* the largest packet handed to the device at once, bytes */
};

struct inet_sock {
	struct sock sk;
};

struct inet_connection_sock {
	struct inet_sock icsk_inet;
	__u8 icsk_ca_state : 5;
	u64 icsk_ca_priv[13];
};

/* The timestamp of the current segment, in the peer's ticks. */
struct tcp_options_received {
	u32 rcv_tsval;
	u16 saw_tstamp : 1;
};

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	u64 tcp_mstamp; /* us; when processing of the current segment began */
	u64 bytes_acked;
	u32 snd_una, snd_nxt, write_seq, high_seq;
	u32 app_limited; /* not 0: the packets in flight were sent when the application had no more data */
	u32 snd_cwnd, snd_ssthresh, snd_cwnd_clamp, prior_cwnd; /* packets */
	u32 packets_out, sacked_out, lost_out, retrans_out, max_packets_out;
	u32 delivered, lost, data_segs_out, prr_out; /* packets */
	u32 srtt_us; /* eight times the smoothed RTT */
	u32 rttvar_us; /* added to it for the timeout */
	u32 tlp_high_seq; /* not 0: a tail loss probe is in flight */
	u32 mss_cache;
	u8 is_cwnd_limited : 1;
	struct tcp_options_received rx_opt;
};

struct ack_sample {
	u32 pkts_acked;
	s32 rtt_us; /* -1: none */
	u32 in_flight;
};

struct rate_sample {
	u64 prior_mstamp;
	u32 prior_delivered; /* packets delivered when the most recently sent of the acknowledged packets was sent */
	s32 delivered;
	u32 prior_in_flight;
	long interval_us;
	long rtt_us;
	int losses;
	u32 acked_sacked;
	bool is_app_limited, is_retrans;
};

/* The start of kernel CUBIC's private state. */
struct bictcp {
	u32 last_max_cwnd; /* the plateau of the next curve */
	u32 epoch_start;   /* 0: no epoch */
	u8 found; /* its own HyStart has triggered, or is disabled */
};

#ifndef FF_NATIVE
#pragma clang attribute pop
#endif

enum ca_state { CA_OPEN, CA_DISORDER, CA_CWR, CA_RECOVERY, CA_LOSS };
/* The type is compared with the kernel's enumeration of this name. */
enum tcp_ca_event { CA_EVENT_TX_START, CA_EVENT_CWND_RESTART };

#ifndef FF_NATIVE
extern void cubictcp_init(struct sock *sk) __ksym;
extern u32 cubictcp_recalc_ssthresh(struct sock *sk) __ksym;
extern void cubictcp_cong_avoid(struct sock *sk, u32 ack, u32 acked) __ksym;
extern void cubictcp_state(struct sock *sk, u8 state) __ksym;
extern void cubictcp_acked(struct sock *sk, const struct ack_sample *sample) __ksym;
extern u32 tcp_reno_undo_cwnd(struct sock *sk) __ksym;
/* Only one of the two exists; the loader knows which. */
extern void cubictcp_cwnd_event(struct sock *sk, enum tcp_ca_event event) __ksym __weak;
extern void cubictcp_cwnd_event_tx_start(struct sock *sk) __ksym __weak;
struct features {
	bool have_cwnd_event, have_tx_start;
	char chosen[16]; /* the arm assigned to the sockets of control groups */
};
/* Frozen before verification: calls of missing functions are dead code. Layout of kernel/loader.rs. */
const volatile struct features features SEC(".rodata.features") = { .have_cwnd_event = true };
#define have_cwnd_event features.have_cwnd_event
#define have_tx_start features.have_tx_start
extern int LINUX_KERNEL_VERSION __kconfig;
#define has_four_arguments() (LINUX_KERNEL_VERSION >= (6 << 16 | 10 << 8))

/* The operations that we define; the kernel's structure has more, and the loader matches them by name. */
struct tcp_congestion_ops {
	u32 flags;
	char name[16];
	void (*init)(struct sock *sk);
	void (*release)(struct sock *sk);
	u32 (*ssthresh)(struct sock *sk);
	u32 (*undo_cwnd)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, u32 ack, u32 acked);
	void (*cong_control)(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs);
	void (*set_state)(struct sock *sk, u8 state);
	void (*cwnd_event)(struct sock *sk, u32 event);
	void (*cwnd_event_tx_start)(struct sock *sk);
	void (*pkts_acked)(struct sock *sk, const struct ack_sample *sample);
	u32 (*min_tso_segs)(struct sock *sk);
};
_Static_assert(__builtin_offsetof(struct tcp_congestion_ops, cwnd_event_tx_start) == 88, "where the loader clears it");

#define CA_STATE(sk) ((u8)BPF_CORE_READ_BITFIELD(&((struct tcp_sock *)(sk))->inet_conn, icsk_ca_state))
#define SAW_TIME_STAMP(tp) (BPF_CORE_READ_BITFIELD(tp, rx_opt.saw_tstamp) != 0)
#define CWND_LIMITED(tp) (BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited) != 0)
/* Location of kernel CUBIC's `found` in the private words of the socket. */
#define CUBIC_AT(sk, member) ((u8 *)((struct inet_connection_sock *)(sk))->icsk_ca_priv + bpf_core_field_offset(struct bictcp, member))
#define CUBIC_FOUND(sk) (*CUBIC_AT(sk, found))
#define CUBIC_LAST_MAX(sk) (*(u32 *)CUBIC_AT(sk, last_max_cwnd))
#else
#include "native.h"
#endif

#endif
