/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * A field test on the sockets of a control group: each new connection is assigned a random arm before data flows, and leaves a record when
 * it is closed. Only these records leave the kernel. They contain no address: the unit is a keyed hash, whose key is known only here, or a
 * time slot.
 */
#include "field.h"

enum { MOST_ARMS = 8 };

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct inet_connection_sock___chosen {
	__u8 icsk_ca_setsockopt : 1;
};
#pragma clang attribute pop

/* Frozen before verification. Layout of kernel/field.rs. */
struct trial {
	u64 assign_key[2], pseudonym_key[2];
	u64 enrol;              /* hashes (of 2^32) below this take part */
	u64 origin_ns, slot_ns; /* time slots */
	u32 arms, by;
	struct prefixes client;
	u32 pad;
	char names[MOST_ARMS][NAME_LEN];
};
const volatile struct trial trial SEC(".rodata.field") = { .arms = 1, .slot_ns = 1 };
enum by { BY_CLIENT, BY_CONNECTION, BY_TIME };

/* Range of hashes (of 2^32) of each arm but the first; the second set is for the next epoch and is written while unused. */
struct shares {
	u64 from[MOST_ARMS], to[MOST_ARMS];
	u64 epoch;
};
struct plan {
	u64 now;
	struct shares shares[2];
};
struct plan plan SEC(".data.plan");

/* Layout of kernel/told.rs. */
struct told {
	struct closed closed;
	u64 at_us;  /* when */
	u64 socket; /* address as in the arms' reports; may be reused by a later connection */
	u32 connection;
	u16 epoch;
	u8 arm;
	u8 flags;
};
enum { GOING = 1, CHANGED = 2 }; /* still open; its service has since chosen another controller */
_Static_assert(sizeof(struct told) == 104, "a record has no holes");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 22);
} rows SEC(".maps");

/* Connections per arm; connections whose service chose a controller; failed assignments; dropped rows; numbers assigned; connections that
 * do not take part. */
u64 counts[MOST_ARMS + 5];
enum { LEFT_OUT = MOST_ARMS, FAILED, DROPPED, NUMBERS, OUTSIDE };
/* Interval of the reports on an open connection; one packet in NOW_AND_THEN checks it. */
static const u64 EVERY_US = 10000000;
enum { NOW_AND_THEN = 8 };

static __always_inline u64 controller_of(struct tcp_sock *tp)
{
	return (u64)(long)((struct inet_connection_sock___named *)tp)->icsk_ca_ops;
}

/* Only lost final rows are counted: earlier reports are repeated. The reader polls. */
static __always_inline void tell(struct flow *flow, struct tcp_sock *tp, bool going, bool ended)
{
	struct told *told = bpf_ringbuf_reserve(&rows, sizeof(*told), 0);

	if (!told) {
		if (!going)
			__sync_fetch_and_add(&counts[DROPPED], 1);
		return;
	}
	fill(&told->closed, flow, tp, ended);
	told->at_us = tp->tcp_mstamp;
	told->socket = (u64)(long)tp;
	told->connection = flow->number - 1;
	told->epoch = flow->epoch;
	told->arm = flow->arm;
	told->flags = (going ? GOING : 0) | (controller_of(tp) != flow->controller ? CHANGED : 0);
	bpf_ringbuf_submit(told, BPF_RB_NO_WAKEUP);
}

/* The arm of a unit. Time slots come in pairs; the second slot gets the arm that the first did not. */
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

static __always_inline void established(struct bpf_sock_ops *socket, struct tcp_sock *tp)
{
	u64 slot = 0, cookie = bpf_get_socket_cookie(socket);
	struct shares *shares;
	char name[NAME_LEN];
	struct unit unit;
	struct flow *flow;
	u32 i, arm;

	if (trial.by == BY_CONNECTION)
		numbered(&unit, 0, cookie);
	else
		client_of(socket, &unit, &trial.client);
	if (trial.enrol < 1ull << 32 && hash(&unit, 'e', trial.assign_key[0], trial.assign_key[1]) >> 32 >= trial.enrol) {
		__sync_fetch_and_add(&counts[OUTSIDE], 1);
		return;
	}
	/* The service or its listener has chosen a controller, which takes precedence. */
	if (BPF_CORE_READ_BITFIELD((struct inet_connection_sock___chosen *)tp, icsk_ca_setsockopt)) {
		__sync_fetch_and_add(&counts[LEFT_OUT], 1);
		return;
	}
	if (trial.by == BY_TIME)
		slot = (tp->tcp_mstamp * 1000 - trial.origin_ns) / trial.slot_ns;
	shares = &plan.shares[*(volatile u64 *)&plan.now & 1];
	arm = arm_of(&unit, slot, shares) & (MOST_ARMS - 1);
	/* A volatile read, as declared: the compiler sees only empty names. */
	for (i = 0; i < NAME_LEN; i++)
		name[i] = trial.names[arm][i];
	flow = make(cookie);
	if (!flow || bpf_setsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, name, NAME_LEN)) {
		if (flow)
			forget(flow);
		__sync_fetch_and_add(&counts[FAILED], 1);
		return;
	}
	flow->arm = arm;
	flow->epoch = shares->epoch;
	flow->controller = controller_of(tp);
	begin(flow, socket, tp,
	      trial.by == BY_TIME ? slot : hash(&unit, 'p', trial.pseudonym_key[0], trial.pseudonym_key[1]),
	      &counts[NUMBERS]);
	__sync_fetch_and_add(&counts[arm], 1);
}

static __always_inline void over(struct bpf_sock_ops *socket, struct flow *flow, struct tcp_sock *tp)
{
	tell(flow, tp, false, by_fin(socket->args[0]));
}

SEC("cgroup_skb/egress") int leaves(struct __sk_buff *packet)
{
	struct tcp_sock *tp = tcp_of(packet->sk);
	struct flow *flow;

	if (!tp || at_rest(tp))
		return 1;
	/* While data is outstanding, only checks occasionally whether a report is due, and handles data sent before the end of the handshake. */
	if (outstanding(tp) && tp->tcp_mstamp % NOW_AND_THEN && ((struct sock *)tp)->__sk_common.skc_state != SYN_RECV)
		return 1;
	flow = flow_of(tp);
	if (!flow)
		return 1;
	if (!outstanding(tp) || !flow->busy_since)
		leaving(flow, tp, has_data(packet, header_of(packet)));
	if (tp->tcp_mstamp - flow->told_us >= EVERY_US) {
		flow->told_us = tp->tcp_mstamp;
		tell(flow, tp, true, false);
	}
	return 1;
}

char LICENSE[] SEC("license") = "GPL";
