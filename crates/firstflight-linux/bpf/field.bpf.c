/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * A field test on the sockets of a control group: each new connection gets an arm by chance before data flow, and leaves a record when it is
 * closed. Nothing but these records leaves the kernel, and no address is in them: the unit is a hash under a key that is known here
 * only, or a slot of time.
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
	u64 enrol;              /* of 2^32 hashes, those below take part */
	u64 origin_ns, slot_ns; /* slots of time */
	u32 arms, by;
	struct prefixes client;
	u32 pad;
	char names[MOST_ARMS][NAME_LEN];
};
const volatile struct trial trial SEC(".rodata.field") = { .arms = 1, .slot_ns = 1 };
enum by { BY_CLIENT, BY_CONNECTION, BY_TIME };

/* What each arm but the first holds, of 2^32 hashes; and the same for the next epoch, which is written while nobody reads it. */
struct shares {
	u64 from[MOST_ARMS], to[MOST_ARMS];
	u64 epoch;
};
struct plan {
	u64 now;
	struct shares shares[2];
};
struct plan plan SEC(".data.plan");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} rows SEC(".maps");

/* Connections that got each arm; those whose service chose for itself; those that could not be given theirs; rows without room; all
 * that were given one; those that take no part. */
u64 counts[MOST_ARMS + 5];
enum { LEFT_OUT = MOST_ARMS, FAILED, DROPPED, BEGINNINGS, OUTSIDE };
/* A connection that goes on is told of this often. */
static const u64 EVERY_NS = 10000000000ull;
enum { BPF_RB_NO_WAKEUP = 1 };

/* Only a row that is lost is counted: what is told before is told again. */
static __always_inline void tell(struct flow *flow, struct tcp_sock *tp, u8 moment, bool ended, u64 flags)
{
	struct closed *row = bpf_ringbuf_reserve(&rows, sizeof(*row), 0);

	flow->told_ns = bpf_ktime_get_ns();
	if (!row) {
		if (moment == OVER)
			__sync_fetch_and_add(&counts[DROPPED], 1);
		return;
	}
	fill(row, flow, tp, moment, ended);
	bpf_ringbuf_submit(row, flags);
}

/* The arm of a unit; of slots of time, which come in pairs, the second has the one that the first has not. */
static __always_inline u32 arm_of(struct unit *unit, u64 slot, struct shares *shares)
{
	u64 drawn;
	u32 i, arm = 0;

	if (trial.by == BY_TIME)
		numbered(unit, 1, slot >> 1);
	drawn = hash(unit, 'a', trial.assign_key[0], trial.assign_key[1]);
	if (trial.by == BY_TIME)
		return (drawn >> 63) ^ (slot & 1);
	drawn >>= 32;
	for (i = 1; i < MOST_ARMS; i++)
		if (i < trial.arms && drawn >= shares->from[i] && drawn < shares->to[i])
			arm = i;
	return arm;
}

static __always_inline void established(struct bpf_sock_ops *socket)
{
	u64 now = bpf_ktime_get_ns(), slot = 0;
	struct bpf_sock *sk = socket->sk;
	char name[NAME_LEN];
	struct unit unit;
	struct flow *flow;
	struct tcp_sock *tp;
	struct shares *shares;
	u32 i, arm;

	if (!sk)
		return;
	tp = bpf_skc_to_tcp_sock(sk);
	if (!tp)
		return;
	if (trial.by == BY_CONNECTION)
		numbered(&unit, 0, bpf_get_socket_cookie(socket));
	else
		client_of(socket, &unit, &trial.client);
	if (hash(&unit, 'e', trial.assign_key[0], trial.assign_key[1]) >> 32 >= trial.enrol) {
		__sync_fetch_and_add(&counts[OUTSIDE], 1);
		return;
	}
	/* The service chose for itself, or its listener did: it knows why. */
	if (BPF_CORE_READ_BITFIELD((struct inet_connection_sock___chosen *)tp, icsk_ca_setsockopt)) {
		__sync_fetch_and_add(&counts[LEFT_OUT], 1);
		return;
	}
	if (trial.by == BY_TIME)
		slot = (now - trial.origin_ns) / trial.slot_ns;
	shares = &plan.shares[*(volatile u64 *)&plan.now & 1];
	arm = arm_of(&unit, slot, shares);
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
	flow->start_ns = now;
	if (trial.by == BY_TIME)
		flow->unit = slot;
	else
		flow->unit = hash(&unit, 'p', trial.pseudonym_key[0], trial.pseudonym_key[1]);
	flow->arm = arm;
	flow->epoch = shares->epoch;
	flow->first_seq = socket->snd_nxt;
	flow->handshake_us = socket->srtt_us >> 3;
	flow->connection = __sync_fetch_and_add(&counts[BEGINNINGS], 1);
	__sync_fetch_and_add(&counts[arm & (MOST_ARMS - 1)], 1);
	tell(flow, tp, BEGUN, false, BPF_RB_NO_WAKEUP);
	bpf_sock_ops_cb_flags_set(socket, socket->cb_flags | STATE_FLAG);
}

static __always_inline void over(struct bpf_sock_ops *socket, struct flow *flow, struct tcp_sock *tp)
{
	tell(flow, tp, OVER, by_fin(socket->args[0]), 0);
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
	struct tcp_sock *tp;
	u32 at;

	if (!flow || !flow->busy_since)
		return 1;
	at = tcp_at(packet);
	if (at)
		acknowledged(packet, sk, flow, at);
	if (bpf_ktime_get_ns() - flow->told_ns < EVERY_NS)
		return 1;
	tp = bpf_skc_to_tcp_sock(sk);
	if (tp)
		tell(flow, tp, GOING, false, BPF_RB_NO_WAKEUP);
	return 1;
}

char LICENSE[] SEC("license") = "GPL";
