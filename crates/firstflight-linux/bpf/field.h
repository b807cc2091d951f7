/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Shared by the programs on the sockets of a control group: kernel contexts, the pseudonym of a client, busy time, and the record of a
 * finished connection.
 *
 * Busy time is the total time with data outstanding: from the first data packet sent with nothing outstanding until TCP processes the
 * acknowledgement that covers everything. The kernel's own accounting has a resolution of milliseconds. The start is observed when the
 * packet leaves. TCP records the end as the time of the last delivery, in microseconds and in every state, including after the service has
 * closed. It is read when the next packet leaves with nothing outstanding, or at the end, so no acknowledgement has to be inspected.
 */
#ifndef FF_FIELD_H
#define FF_FIELD_H

#include "kernel.h"

enum { NAME_LEN = 16 };
enum { ACTIVE_ESTABLISHED = 4, PASSIVE_ESTABLISHED = 5, STATE_CHANGED = 10 };
enum { STATE_FLAG = 1 << 2 };
enum { IPPROTO_TCP = 6, TCP_CONGESTION = 13 };
enum { AF_INET = 2, AF_INET6 = 10 };
/* The kernel's numbers for the times that it keeps in ticks. */
enum { RWND_LIMITED = 2, SNDBUF_LIMITED = 3 };
enum { BPF_RB_NO_WAKEUP = 1 };
enum { SYN_RECV = 3, FIN_WAIT2 = 5, TIME_WAIT = 6, CLOSE = 7, LAST_ACK = 9, CLOSING = 11, NEW_SYN_RECV = 12 };

/* Layouts of the kernel's interface (linux/bpf.h), which never change. */
struct bpf_sock {
	u32 bound_dev_if, family, type, protocol, mark, priority;
	u32 src_ip4, src_ip6[4], src_port;
	u16 dst_port, pad;
	u32 dst_ip4, dst_ip6[4];
	u32 state;
};
_Static_assert(__builtin_offsetof(struct bpf_sock, state) == 72, "as linux/bpf.h has it");
struct bpf_sock_ops {
	u32 op;
	u32 args[4];
	u32 family;
	u32 remote_ip4, local_ip4;
	u32 remote_ip6[4], local_ip6[4];
	u32 remote_port, local_port;
	u32 is_fullsock, snd_cwnd, srtt_us, cb_flags, state, rtt_min, snd_ssthresh;
	u32 rcv_nxt, snd_nxt, snd_una, mss_cache, ecn_flags, rate_delivered, rate_interval_us;
	u32 packets_out, retrans_out, total_retrans, segs_in, data_segs_in, segs_out, data_segs_out;
	u32 lost_out, sacked_out, sk_txhash;
	u64 bytes_received, bytes_acked;
	struct bpf_sock *sk;
};
_Static_assert(__builtin_offsetof(struct bpf_sock_ops, sk) == 184, "as linux/bpf.h has it");

struct __sk_buff {
	u32 len;
	u32 before[18];
	u32 data, data_end;
	u32 more[21];
	struct bpf_sock *sk;
};
_Static_assert(__builtin_offsetof(struct __sk_buff, sk) == 168, "as linux/bpf.h has it");

struct bpf_tcp_sock {
	u32 snd_cwnd, srtt_us, rtt_min, snd_ssthresh, rcv_nxt, snd_nxt, snd_una;
};

/* More of the kernel's own structures, by name. */
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct minmax_sample {
	u32 v;
};
struct minmax {
	struct minmax_sample s[3];
};
struct tcp_sock___closed {
	u32 lost, delivered_ce, total_retrans;
	u64 delivered_mstamp; /* us */
	u32 chrono_start, chrono_stat[3]; /* ticks */
	u8 chrono_type : 2; /* one plus the index in chrono_stat of the timer started at chrono_start */
	struct minmax rtt_min;
	u16 total_rto; /* since 6.7 */
};
struct sock___spoken {
	u16 sk_protocol;
};
struct tcp_sock___flagged {
	u8 bpf_sock_ops_cb_flags;
};
struct tcp_congestion_ops___named {
	char name[16];
};
struct inet_connection_sock___named {
	const struct tcp_congestion_ops___named *icsk_ca_ops;
};
#pragma clang attribute pop

/* Since 6.2: a cast by the verifier, not a call. */
extern void *bpf_rdonly_cast(const void *object, u32 type) __ksym __weak;

/*
 * Returns the TCP socket if `sk` is a full one. Calling the helper costs as much as all other work for most packets. Where the cast is
 * available, the helper's checks are made here instead: sockets in a handshake or in TIME_WAIT are shorter structures.
 */
static __always_inline struct tcp_sock *tcp_of(struct bpf_sock *sk)
{
	struct tcp_sock *tp;
	u32 state;

	if (!sk)
		return NULL;
	if (!bpf_ksym_exists(bpf_rdonly_cast))
		return bpf_skc_to_tcp_sock(sk);
	state = sk->state;
	if (state == TIME_WAIT || state == NEW_SYN_RECV)
		return NULL;
	tp = bpf_rdonly_cast(sk, bpf_core_type_id_kernel(struct tcp_sock));
	return ((struct sock___spoken *)tp)->sk_protocol == IPPROTO_TCP ? tp : NULL;
}

/* Layout of kernel/closed.rs, without padding between members. */
struct closed {
	u64 start_us, busy_us, unit, bytes_acked;
	u32 bytes_written, handshake_us, rtt_min_us, srtt_us;
	u32 segments, retransmitted, lost, ce;
	u32 rwnd_ticks, sndbuf_ticks;
	u16 timeouts;
	u8 ended, acked_all, has_timeouts, pad[3];
};
_Static_assert(sizeof(struct closed) == 80, "a record has no holes");

/* State of an open connection. Times are TCP's: microseconds of the monotonic clock. Layout of kernel/told.rs. */
struct flow {
	u64 cookie; /* 0: unused */
	u64 start_us, busy_us, busy_since, unit;
	u32 first_seq, handshake_us;
	u64 controller; /* kernel address of the assigned controller */
	u64 told_us;
	u32 number;	/* starts at 1; written last and zeroed first */
	u16 arm, epoch;
	u32 serial;	/* records so far */
	bool opened;	/* the first record was written */
	bool beyond;	/* stored in the second map */
	u8 pad[2];	/* 6.1 rejects uninitialised bytes */
};
_Static_assert(sizeof(struct flow) == 80, "user space reads it");

/*
 * The lowest bits of a connection's cookie are its index. Cookies are consecutive, so an index is in use only if a connection that started
 * a multiple of PLACES earlier is still open; the newer one then goes to the second map. Creating and freeing an entry there, or in the
 * socket's local storage, takes longer than all other work for a connection.
 */
enum { PLACES = 1 << 16 };
struct places {
	struct flow at[PLACES];
};
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct places);
} places SEC(".maps");
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1 << 18);
	__type(key, u64);
	__type(value, struct flow);
} beyond SEC(".maps");

static __always_inline struct flow *place_of(u64 cookie)
{
	struct places *all;
	u32 zero = 0;

	all = bpf_map_lookup_elem(&places, &zero);
	return all ? &all->at[cookie & (PLACES - 1)] : NULL;
}

static __always_inline struct flow *find(u64 cookie)
{
	struct flow *flow = place_of(cookie);

	return flow && flow->cookie == cookie ? flow : bpf_map_lookup_elem(&beyond, &cookie);
}

/* Returns a zeroed entry for a new connection, or NULL if the second map is full, too. */
static __always_inline struct flow *make(u64 cookie)
{
	struct flow fresh = { .cookie = cookie, .beyond = true };
	struct flow *flow = place_of(cookie);
	u64 before;

	if (!flow)
		return NULL;
	before = __sync_val_compare_and_swap(&flow->cookie, 0, cookie);
	/* A socket that reconnects keeps its cookie. */
	if (!before || before == cookie) {
		fresh.beyond = false;
		*flow = fresh;
		return flow;
	}
	bpf_map_update_elem(&beyond, &cookie, &fresh, BPF_ANY);
	return bpf_map_lookup_elem(&beyond, &cookie);
}

static __always_inline void forget(struct flow *flow)
{
	u64 cookie = flow->cookie;

	flow->number = 0;
	if (flow->beyond)
		bpf_map_delete_elem(&beyond, &cookie);
	else
		*(volatile u64 *)&flow->cookie = 0;
}

/* One flag identifies nearly all connections that are not ours. */
static __always_inline struct flow *flow_of(struct tcp_sock *tp)
{
	if (!(((struct tcp_sock___flagged *)tp)->bpf_sock_ops_cb_flags & STATE_FLAG))
		return NULL;
	return find(((struct sock *)tp)->__sk_common.skc_cookie.counter);
}

static __always_inline u64 rotate(u64 x, u32 by)
{
	return x << by | x >> (64 - by);
}

#define SIP_ROUND() \
	do { \
		v0 += v1, v1 = rotate(v1, 13) ^ v0, v0 = rotate(v0, 32); \
		v2 += v3, v3 = rotate(v3, 16) ^ v2; \
		v0 += v3, v3 = rotate(v3, 21) ^ v0; \
		v2 += v1, v1 = rotate(v1, 17) ^ v2, v2 = rotate(v2, 32); \
	} while (0)

/* SipHash-2-4 of `len` bytes (below 24), in zeroed words. */
static __always_inline u64 siphash(u64 k0, u64 k1, const u64 *message, u32 len)
{
	u64 v0 = k0 ^ 0x736f6d6570736575, v1 = k1 ^ 0x646f72616e646f6d;
	u64 v2 = k0 ^ 0x6c7967656e657261, v3 = k1 ^ 0x7465646279746573;
	u64 word;
	u32 i;

	for (i = 0; i < 3; i++) {
		word = message[i];
		if (i == len / 8)
			word |= (u64)len << 56;
		v3 ^= word;
		SIP_ROUND();
		SIP_ROUND();
		v0 ^= word;
		if (i == len / 8)
			break;
	}
	v2 ^= 0xff;
	SIP_ROUND();
	SIP_ROUND();
	SIP_ROUND();
	SIP_ROUND();
	return v0 ^ v1 ^ v2 ^ v3;
}

/* The input that firstflight_trial::assign hashes: purpose, kind, and the network or the number. */
struct unit {
	u64 words[3];
	u32 len;
};

static __always_inline void put(struct unit *unit, u32 at, u8 byte)
{
	((u8 *)unit->words)[at] = byte;
}

/* Reads one word of the context: the verifier rejects other reads, and the compiler would merge two. */
#define CONTEXT(member) (*(volatile u32 *)&(member))

static __always_inline void put_word(struct unit *unit, u32 at, u32 word, u32 bytes)
{
	u32 i;

	for (i = 0; i < bytes; i++)
		put(unit, at + i, word >> (8 * i));
}

/* A unit identified by a number that is unique within its kind. */
static __always_inline void numbered(struct unit *unit, u8 kind, u64 number)
{
	__builtin_memset(unit, 0, sizeof(*unit));
	put(unit, 1, kind);
	put_word(unit, 2, number, 4);
	put_word(unit, 6, number >> 32, 4);
	unit->len = 10;
}

/* Masks of the address bits that identify a client, in network order. */
struct prefixes {
	u32 v4, v6[4];
};

static __always_inline void client_of(struct bpf_sock_ops *socket, struct unit *unit, const volatile struct prefixes *keep)
{
	u32 first, second, third, last, v4 = 0;
	bool is_v4;

	__builtin_memset(unit, 0, sizeof(*unit));
	first = CONTEXT(socket->remote_ip6[0]);
	second = CONTEXT(socket->remote_ip6[1]);
	third = CONTEXT(socket->remote_ip6[2]);
	last = CONTEXT(socket->remote_ip6[3]);
	is_v4 = CONTEXT(socket->family) == AF_INET;
	if (is_v4) {
		v4 = CONTEXT(socket->remote_ip4);
	} else if (!first && !second && third == 0xffff0000) {
		is_v4 = true;
		v4 = last;
	}
	if (is_v4) {
		put(unit, 1, 4);
		put_word(unit, 2, v4 & keep->v4, 4);
		unit->len = 6;
		return;
	}
	put(unit, 1, 6);
	put_word(unit, 2, first & keep->v6[0], 4);
	put_word(unit, 6, second & keep->v6[1], 4);
	put_word(unit, 10, third & keep->v6[2], 4);
	put_word(unit, 14, last & keep->v6[3], 4);
	unit->len = 18;
}

static __always_inline u64 hash(struct unit *unit, u8 purpose, u64 k0, u64 k1)
{
	put(unit, 0, purpose);
	return siphash(k0, k1, unit->words, unit->len);
}

static __always_inline bool outstanding(struct tcp_sock *tp)
{
	return tp->snd_una != tp->snd_nxt;
}

/* Whether nothing is outstanding or unsent: packets then carry no data, and none can be acknowledged. */
static __always_inline bool at_rest(struct tcp_sock *tp)
{
	return tp->snd_una == tp->write_seq;
}

/* Busy time so far; up to the last delivery if nothing is outstanding. */
static __always_inline u64 busy_us(struct flow *flow, struct tcp_sock *tp)
{
	u64 until;

	if (!flow->busy_since)
		return flow->busy_us;
	until = outstanding(tp) ? bpf_ktime_get_ns() / 1000 : ((struct tcp_sock___closed *)tp)->delivered_mstamp;
	/* A packet dropped by this host starts no busy time. */
	return flow->busy_us + (until > flow->busy_since ? until - flow->busy_since : 0);
}

/* Accounts for a departing packet. If nothing is outstanding, the busy period has ended, and data starts a new one. */
static __always_inline void leaving(struct flow *flow, struct tcp_sock *tp, bool data)
{
	if (!outstanding(tp)) {
		flow->busy_us = busy_us(flow, tp);
		flow->busy_since = data ? tp->tcp_mstamp : 0;
	} else if (!flow->busy_since && data) {
		/* A handshake without its last ACK also counts as outstanding. */
		flow->busy_since = tp->tcp_mstamp;
	}
}

/* Time for which `what` limited the connection. */
static __always_inline u32 limited(struct tcp_sock___closed *tp, u32 what)
{
	u32 ticks = tp->chrono_stat[what - 1];

	if (BPF_CORE_READ_BITFIELD(tp, chrono_type) == what)
		ticks += (u32)bpf_jiffies64() - tp->chrono_start;
	return ticks;
}

/* Fills the record with the current state of a connection. */
static __always_inline void fill(struct closed *row, struct flow *flow, struct tcp_sock *tp, bool ended)
{
	struct tcp_sock___closed *more = (struct tcp_sock___closed *)tp;

	row->start_us = flow->start_us;
	row->busy_us = busy_us(flow, tp);
	row->unit = flow->unit;
	row->bytes_acked = tp->bytes_acked;
	row->bytes_written = tp->write_seq - flow->first_seq;
	row->handshake_us = flow->handshake_us;
	row->rtt_min_us = more->rtt_min.s[0].v;
	row->srtt_us = tp->srtt_us >> 3;
	row->segments = tp->data_segs_out;
	row->retransmitted = more->total_retrans;
	row->lost = more->lost;
	row->ce = more->delivered_ce;
	row->rwnd_ticks = limited(more, RWND_LIMITED);
	row->sndbuf_ticks = limited(more, SNDBUF_LIMITED);
	row->has_timeouts = bpf_core_field_exists(more->total_rto);
	row->timeouts = row->has_timeouts ? more->total_rto : 0;
	row->ended = ended;
	row->acked_all = tp->snd_una == tp->write_seq;
	__builtin_memset(row->pad, 0, sizeof(row->pad));
}

/* Whether a connection that leaves this state has ended with a FIN. */
static __always_inline bool by_fin(u32 before)
{
	return before == FIN_WAIT2 || before == TIME_WAIT || before == LAST_ACK || before == CLOSING;
}

/* Hides the value from the compiler but not from the verifier. */
#define KEEP_IN_REGISTER(value) asm volatile("" : "+r"(value))

/* Offset and length (with options) of a packet's TCP header, bytes; 0 if there is none. Headers are always linear here. */
struct header {
	u32 at, length;
};

static __always_inline struct header header_of(struct __sk_buff *packet)
{
	u8 *data = (u8 *)(long)packet->data, *end = (u8 *)(long)packet->data_end, *tcp;
	struct header header = {};
	u32 at = 40;

	if (data + 20 > end)
		return header;
	if (data[0] >> 4 == 4) {
		if (data[9] != IPPROTO_TCP)
			return header;
		at = (data[0] & 15) * 4;
	} else if (data[6] != IPPROTO_TCP) {
		return header;
	}
	tcp = data + at;
	/* A single pointer, so that the verifier can follow it. */
	KEEP_IN_REGISTER(tcp);
	if (tcp + 20 > end)
		return header;
	header.at = at;
	header.length = (tcp[12] >> 4) * 4;
	return header;
}

static __always_inline bool has_data(struct __sk_buff *packet, struct header header)
{
	return header.length && packet->len > header.at + header.length;
}

/* Fills the state of a new connection; its number is written last. */
static __always_inline void begin(struct flow *flow, struct bpf_sock_ops *socket, struct tcp_sock *tp, u64 unit, u64 *numbers)
{
	flow->start_us = tp->tcp_mstamp;
	flow->told_us = flow->start_us;
	flow->unit = unit;
	flow->first_seq = tp->snd_nxt;
	flow->handshake_us = tp->srtt_us >> 3;
	bpf_sock_ops_cb_flags_set(socket, socket->cb_flags | STATE_FLAG);
	*(volatile u32 *)&flow->number = __sync_fetch_and_add(numbers, 1) + 1;
}

/* Each program defines these: called when a connection is established, and when a tracked one ends. */
static __always_inline void established(struct bpf_sock_ops *socket, struct tcp_sock *tp);
static __always_inline void over(struct bpf_sock_ops *socket, struct flow *flow, struct tcp_sock *tp);

SEC("sockops") int connection(struct bpf_sock_ops *socket)
{
	bool begins = socket->op == ACTIVE_ESTABLISHED || socket->op == PASSIVE_ESTABLISHED;
	struct tcp_sock *tp;
	struct flow *flow;

	if (!begins && (socket->op != STATE_CHANGED || socket->args[1] != CLOSE))
		return 1;
	tp = tcp_of(socket->sk);
	if (!tp)
		return 1;
	if (begins) {
		established(socket, tp);
		return 1;
	}
	flow = flow_of(tp);
	if (flow) {
		over(socket, flow, tp);
		forget(flow);
	}
	return 1;
}

#endif
