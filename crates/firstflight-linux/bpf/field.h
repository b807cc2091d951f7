/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * What programs on the sockets of a control group share: contexts of the kernel, the pseudonym of a client, busy time, the record of a
 * connection that is over.
 *
 * Busy time is the whole time with data outstanding, on our own clock: from the first packet with data that leaves while nothing is
 * outstanding until an acknowledgement arrives that covers all. The kernel's own account is in ticks of milliseconds. Packets are seen in
 * every state of TCP, so also after the service has closed.
 */
#ifndef FF_FIELD_H
#define FF_FIELD_H

#include "kernel.h"

enum { NAME_LEN = 16 };
enum { ACTIVE_ESTABLISHED = 4, PASSIVE_ESTABLISHED = 5, STATE_CHANGED = 10 };
enum { STATE_FLAG = 1 << 2 };
enum { IPPROTO_TCP = 6, TCP_CONGESTION = 13 };
enum { AF_INET = 2, AF_INET6 = 10 };
enum { ESTABLISHED = 1, FIN_WAIT2 = 5, TIME_WAIT = 6, CLOSE = 7, LAST_ACK = 9, CLOSING = 11 };

/* Layouts of the kernel's interface (linux/bpf.h), which never move. */
struct bpf_sock;
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
	u32 before[41];
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
	struct minmax rtt_min;
	u16 total_rto; /* from 6.7 */
};
#pragma clang attribute pop

/* Layout of kernel/field.rs: a member after the other. */
struct closed {
	u64 start_ns, busy_ns, unit, bytes_acked;
	u32 bytes_written, handshake_us, rtt_min_us, srtt_us;
	u32 segments, retransmitted, lost, ce, timeouts;
	u16 arm, epoch;
	u8 ended, acked_all, has_timeouts, moment;
	u32 connection;
};
enum moment { OVER, BEGUN, GOING };
_Static_assert(sizeof(struct closed) == 80, "a record has no holes");

struct flow {
	u64 start_ns, busy_ns, busy_since, unit, told_ns;
	u32 first_seq, handshake_us;
	u16 arm, epoch;
	u32 connection, serial, opened; /* of a watched one: its number, records so far, the first was written */
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct flow);
} flows SEC(".maps");

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

/* What firstflight_trial::assign hashes: purpose, kind, and the network or the number. */
struct unit {
	u64 words[3];
	u32 len;
};

static __always_inline void put(struct unit *unit, u32 at, u8 byte)
{
	((u8 *)unit->words)[at] = byte;
}

/* One word of the context at a time: the verifier takes no other reads, and the compiler would join two. */
#define CONTEXT(member) (*(volatile u32 *)&(member))

static __always_inline void put_word(struct unit *unit, u32 at, u32 word, u32 bytes)
{
	u32 i;

	for (i = 0; i < bytes; i++)
		put(unit, at + i, word >> (8 * i));
}

/* A number that no other unit of its kind has. */
static __always_inline void numbered(struct unit *unit, u8 kind, u64 number)
{
	__builtin_memset(unit, 0, sizeof(*unit));
	put(unit, 1, kind);
	put_word(unit, 2, number, 4);
	put_word(unit, 6, number >> 32, 4);
	unit->len = 10;
}

/* Which bits of an address are a client's, in network order. */
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

/* Fills the record of a connection as it stands. */
static __always_inline void fill(struct closed *row, struct flow *flow, struct tcp_sock *tp, u8 moment, bool ended)
{
	struct tcp_sock___closed *more = (struct tcp_sock___closed *)tp;

	row->start_ns = flow->start_ns;
	row->busy_ns = flow->busy_ns;
	if (flow->busy_since)
		row->busy_ns += bpf_ktime_get_ns() - flow->busy_since;
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
	row->has_timeouts = bpf_core_field_exists(more->total_rto);
	row->timeouts = row->has_timeouts ? more->total_rto : 0;
	row->arm = flow->arm;
	row->epoch = flow->epoch;
	row->ended = ended;
	row->acked_all = tp->snd_una == tp->write_seq;
	row->moment = moment;
	row->connection = flow->connection;
}

/* Whether a connection that leaves this state has ended with a FIN. */
static __always_inline bool by_fin(u32 before)
{
	return before == FIN_WAIT2 || before == TIME_WAIT || before == LAST_ACK || before == CLOSING;
}

/* Where the TCP header of a packet begins; 0 if there is none. */
static __always_inline u32 tcp_at(struct __sk_buff *packet)
{
	u8 first, protocol;

	if (bpf_skb_load_bytes(packet, 0, &first, 1))
		return 0;
	if (first >> 4 == 4) {
		if (bpf_skb_load_bytes(packet, 9, &protocol, 1) || protocol != IPPROTO_TCP)
			return 0;
		return (first & 15) * 4;
	}
	if (bpf_skb_load_bytes(packet, 6, &protocol, 1) || protocol != IPPROTO_TCP)
		return 0;
	return 40;
}

static __always_inline struct flow *flow_of(struct __sk_buff *packet, struct bpf_sock **sk)
{
	*sk = packet->sk;
	if (!*sk)
		return NULL;
	*sk = bpf_sk_fullsock(*sk);
	if (!*sk)
		return NULL;
	return bpf_sk_storage_get(&flows, *sk, NULL, 0);
}

/* Payload of a packet whose TCP header begins at `at`, bytes. */
static __always_inline u32 payload(struct __sk_buff *packet, u32 at)
{
	u8 words;
	u32 headers;

	if (bpf_skb_load_bytes(packet, at + 12, &words, 1))
		return 0;
	headers = at + (words >> 4) * 4;
	return packet->len > headers ? packet->len - headers : 0;
}

/* An acknowledgement that covers all ends the busy time. */
static __always_inline void acknowledged(struct __sk_buff *packet, struct bpf_sock *sk, struct flow *flow, u32 at)
{
	struct bpf_tcp_sock *tcp = bpf_tcp_sock(sk);
	u32 ack;

	if (tcp && !bpf_skb_load_bytes(packet, at + 8, &ack, 4) && __builtin_bswap32(ack) == tcp->snd_nxt) {
		flow->busy_ns += bpf_ktime_get_ns() - flow->busy_since;
		flow->busy_since = 0;
	}
}

/* What each of these programs does when a connection begins, and when one that it has a place for is over. */
static __always_inline void established(struct bpf_sock_ops *socket);
static __always_inline void over(struct bpf_sock_ops *socket, struct flow *flow, struct tcp_sock *tp);

SEC("sockops") int connection(struct bpf_sock_ops *socket)
{
	struct bpf_sock *sk = socket->sk;
	struct tcp_sock *tp;
	struct flow *flow;

	if (socket->op == ACTIVE_ESTABLISHED || socket->op == PASSIVE_ESTABLISHED) {
		established(socket);
	} else if (socket->op == STATE_CHANGED && socket->args[1] == CLOSE && sk) {
		flow = bpf_sk_storage_get(&flows, sk, NULL, 0);
		tp = bpf_skc_to_tcp_sock(sk);
		if (flow && tp) {
			over(socket, flow, tp);
			bpf_sk_storage_delete(&flows, sk);
		}
	}
	return 1;
}

#endif
