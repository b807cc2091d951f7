/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * A field test on the sockets of a control group: each new connection gets an arm by chance before data flow, and leaves a record when it is
 * closed. Nothing but these records leaves the kernel, and no address is in them: the unit is a hash under a key that is known here only.
 */
#include "field.h"

enum { MOST_ARMS = 8 };

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct inet_connection_sock___chosen {
	__u8 icsk_ca_setsockopt : 1;
};
#pragma clang attribute pop

/* Frozen before the verifier sees it. Layout of kernel/field.rs. */
struct trial {
	u64 assign_key[2], pseudonym_key[2];
	u64 from[MOST_ARMS], to[MOST_ARMS]; /* of 2^32 hashes, what each arm but the first holds */
	u32 arms, by_client;
	char names[MOST_ARMS][NAME_LEN];
};
const volatile struct trial trial SEC(".rodata.field") = { .arms = 1 };

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} rows SEC(".maps");

/* Connections that got each arm; those whose service chose for itself; those that could not be given theirs; records without room. */
u64 counts[MOST_ARMS + 3];
enum { LEFT_OUT = MOST_ARMS, FAILED, DROPPED };

static __always_inline void established(struct bpf_sock_ops *socket)
{
	struct bpf_sock *sk = socket->sk;
	char name[NAME_LEN];
	struct unit unit;
	struct flow *flow;
	struct tcp_sock *tp;
	u64 drawn;
	u32 i, arm = 0;

	if (!sk)
		return;
	tp = bpf_skc_to_tcp_sock(sk);
	if (!tp)
		return;
	/* The service chose for itself, or its listener did: it knows why. */
	if (BPF_CORE_READ_BITFIELD((struct inet_connection_sock___chosen *)tp, icsk_ca_setsockopt)) {
		__sync_fetch_and_add(&counts[LEFT_OUT], 1);
		return;
	}
	unit_of(socket, &unit, trial.by_client);
	drawn = hash(&unit, 'a', trial.assign_key[0], trial.assign_key[1]) >> 32;
	for (i = 1; i < MOST_ARMS; i++)
		if (i < trial.arms && drawn >= trial.from[i] && drawn < trial.to[i])
			arm = i;
	/* Read as it was declared, volatile: the compiler knows only empty names. */
	for (i = 0; i < NAME_LEN; i++)
		name[i] = trial.names[arm & (MOST_ARMS - 1)][i];
	if (bpf_setsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, name, NAME_LEN)) {
		__sync_fetch_and_add(&counts[FAILED], 1);
		return;
	}
	flow = bpf_sk_storage_get(&flows, sk, NULL, BPF_SK_STORAGE_GET_F_CREATE);
	if (!flow) {
		__sync_fetch_and_add(&counts[FAILED], 1);
		return;
	}
	flow->start_ns = bpf_ktime_get_ns();
	flow->unit = hash(&unit, 'p', trial.pseudonym_key[0], trial.pseudonym_key[1]);
	flow->arm = arm;
	flow->first_seq = socket->snd_nxt;
	flow->handshake_us = socket->srtt_us >> 3;
	__sync_fetch_and_add(&counts[arm & (MOST_ARMS - 1)], 1);
	bpf_sock_ops_cb_flags_set(socket, socket->cb_flags | STATE_FLAG);
}

static __always_inline void closed(struct bpf_sock_ops *socket)
{
	struct bpf_sock *sk = socket->sk;
	struct tcp_sock *tp;
	struct closed *row;
	struct flow *flow;

	if (!sk)
		return;
	flow = bpf_sk_storage_get(&flows, sk, NULL, 0);
	tp = bpf_skc_to_tcp_sock(sk);
	if (!flow || !tp)
		return;
	row = bpf_ringbuf_reserve(&rows, sizeof(*row), 0);
	if (!row) {
		__sync_fetch_and_add(&counts[DROPPED], 1);
		return;
	}
	fill(row, flow, socket, tp);
	bpf_ringbuf_submit(row, 0);
	bpf_sk_storage_delete(&flows, sk);
}

SEC("sockops") int connection(struct bpf_sock_ops *socket)
{
	if (socket->op == ACTIVE_ESTABLISHED || socket->op == PASSIVE_ESTABLISHED)
		established(socket);
	else if (socket->op == STATE_CHANGED && socket->args[1] == CLOSE)
		closed(socket);
	return 1;
}

SEC("cgroup_skb/egress") int leaves(struct __sk_buff *packet)
{
	struct bpf_sock *sk;
	struct flow *flow = flow_of(packet, &sk);
	u32 at;

	if (!flow || flow->busy_since)
		return 1;
	at = tcp_at(packet);
	if (at && payload(packet, at))
		flow->busy_since = bpf_ktime_get_ns();
	return 1;
}

SEC("cgroup_skb/ingress") int arrives(struct __sk_buff *packet)
{
	struct bpf_sock *sk;
	struct flow *flow = flow_of(packet, &sk);
	u32 at;

	if (!flow || !flow->busy_since)
		return 1;
	at = tcp_at(packet);
	if (at)
		acknowledged(packet, sk, flow, at);
	return 1;
}

char LICENSE[] SEC("license") = "GPL";
