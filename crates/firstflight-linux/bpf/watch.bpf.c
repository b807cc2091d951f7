/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Watches the sockets of a control group without changing anything. A share of the connections is drawn at random when they are
 * established. Every outgoing data packet and every incoming acknowledgement of these becomes a record, in every state of TCP, before TCP
 * processes it. A record is the TCP header without its ports; no address and no payload leaves the kernel. If the ring buffer is full, the
 * record is dropped and its number is missing; TCP never waits.
 */
#include "field.h"

/* Kinds of records, in the two highest bits of their number. */
enum { OPENED = 0u << 30, SENT = 1u << 30, ARRIVED = 2u << 30, CLOSED = 3u << 30 };
/* Lengths of TCP headers without their ports, bytes; STAMPED_HEADER: with timestamps as the only option. */
enum { PORTS = 4, LEAST_HEADER = 16, MOST_HEADER = 56, STAMPED_HEADER = 28 };

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct tcp_options_received___scaled {
	u16 wscale_ok : 1, snd_wscale : 4;
};
struct tcp_sock___scaled {
	struct tcp_options_received___scaled rx_opt;
};
#pragma clang attribute pop

/* Frozen before verification. Layout of kernel/watch.rs. */
struct watch {
	u64 pseudonym_key[2];
	u64 limit; /* random numbers (of 2^32) below this are watched */
	u32 port;  /* of either end; 0: any */
	u32 pad;
};
const volatile struct watch watch SEC(".rodata.watch") = { .limit = 1ull << 32 };
/* A /24 and a /56. */
const volatile struct prefixes client = { .v4 = 0x00ffffff, .v6 = { 0xffffffff, 0x00ffffff } };

/* Layouts of kernel/watch.rs, at most 96 bytes. */
struct head {
	u32 connection, number;
	u64 at_ns;
};
struct opened {
	struct head head;
	u32 first_seq, mss, handshake_us;
	u8 scale, has_scale, pad[2];
	char controller[NAME_LEN];
};
struct seen {
	struct head head;
	u32 length; /* of the whole packet */
	u16 ip_header, tcp_bytes;
	u8 tcp[MOST_HEADER];
};
struct over {
	struct head head;
	struct closed row;
};
_Static_assert(sizeof(struct opened) == 48, "a record has no holes");
_Static_assert(sizeof(struct seen) == 80, "a record has no holes");
_Static_assert(sizeof(struct over) == 96, "a record has no holes");

/* The reader polls: waking it for each record would cost more than the record. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 23);
} records SEC(".maps");

/* Connections drawn, connections not drawn, connections without room for their state, dropped records. */
u64 counts[4];
enum { WATCHED, OTHERS, FAILED, DROPPED };

static __always_inline void established(struct bpf_sock_ops *socket, struct tcp_sock *tp)
{
	struct flow *flow;
	struct unit unit;

	if (watch.port && socket->local_port != watch.port &&
	    __builtin_bswap32(CONTEXT(socket->remote_port)) != watch.port)
		return;
	/* The kernel's random numbers: no peer can choose to be watched. */
	if (bpf_get_prandom_u32() >= watch.limit) {
		__sync_fetch_and_add(&counts[OTHERS], 1);
		return;
	}
	flow = make(bpf_get_socket_cookie(socket));
	if (!flow) {
		__sync_fetch_and_add(&counts[FAILED], 1);
		return;
	}
	client_of(socket, &unit, &client);
	begin(flow, socket, tp, hash(&unit, 'p', watch.pseudonym_key[0], watch.pseudonym_key[1]), &counts[WATCHED]);
}

/* The head of a connection's next record, with its number. */
static __always_inline struct head next(struct flow *flow, u32 kind)
{
	struct head head = { .connection = flow->number - 1, .at_ns = bpf_ktime_get_ns() };

	/* Packets of both directions may be processed concurrently. */
	head.number = kind | (__sync_fetch_and_add(&flow->serial, 1) & ~CLOSED);
	return head;
}

static __always_inline void over(struct bpf_sock_ops *socket, struct flow *flow, struct tcp_sock *tp)
{
	struct over *over;
	struct head head;

	/* A connection that never sent data has no records. */
	if (!flow->opened)
		return;
	head = next(flow, CLOSED);
	over = bpf_ringbuf_reserve(&records, sizeof(*over), 0);
	if (!over) {
		__sync_fetch_and_add(&counts[DROPPED], 1);
		return;
	}
	over->head = head;
	fill(&over->row, flow, tp, by_fin(socket->args[0]));
	bpf_ringbuf_submit(over, BPF_RB_NO_WAKEUP);
}

/* Writes the opening record with the first data: the controller and the segment size are final by then. */
static __always_inline void open(struct flow *flow, struct tcp_sock *tp)
{
	const struct tcp_congestion_ops___named *controller;
	struct tcp_sock___scaled *scaled = (struct tcp_sock___scaled *)tp;
	struct opened *opened;
	struct head head;
	u32 i;

	flow->opened = true;
	head = next(flow, OPENED);
	opened = bpf_ringbuf_reserve(&records, sizeof(*opened), 0);
	if (!opened) {
		__sync_fetch_and_add(&counts[DROPPED], 1);
		return;
	}
	opened->head = head;
	opened->first_seq = flow->first_seq;
	opened->mss = tp->mss_cache;
	opened->handshake_us = flow->handshake_us;
	opened->has_scale = BPF_CORE_READ_BITFIELD(scaled, rx_opt.wscale_ok);
	opened->scale = BPF_CORE_READ_BITFIELD(scaled, rx_opt.snd_wscale);
	__builtin_memset(opened->pad, 0, sizeof(opened->pad));
	controller = ((struct inet_connection_sock___named *)tp)->icsk_ca_ops;
	for (i = 0; i < NAME_LEN; i++)
		opened->controller[i] = controller->name[i];
	bpf_ringbuf_submit(opened, BPF_RB_NO_WAKEUP);
}

static __always_inline void tell(struct __sk_buff *packet, struct flow *flow, struct header header, u32 kind)
{
	u64 length = header.length - PORTS;
	struct head head = next(flow, kind);
	struct seen *seen = bpf_ringbuf_reserve(&records, sizeof(*seen), 0);

	if (!seen) {
		__sync_fetch_and_add(&counts[DROPPED], 1);
		return;
	}
	seen->head = head;
	seen->length = packet->len;
	seen->ip_header = header.at;
	/* Two comparisons of one register: compilers turn a range check into a subtraction, which hides the bounds from the verifier of 6.1. */
	KEEP_IN_REGISTER(length);
	if (length < LEAST_HEADER)
		goto no_header;
	KEEP_IN_REGISTER(length);
	if (length > MOST_HEADER || bpf_skb_load_bytes(packet, header.at + PORTS, seen->tcp, length))
		goto no_header;
	seen->tcp_bytes = length;
	bpf_ringbuf_submit(seen, BPF_RB_NO_WAKEUP);
	return;
no_header:
	bpf_ringbuf_discard(seen, BPF_RB_NO_WAKEUP);
}

SEC("cgroup_skb/egress") int leaves(struct __sk_buff *packet)
{
	struct tcp_sock *tp = tcp_of(packet->sk);
	struct flow *flow = tp ? flow_of(tp) : NULL;
	struct header header;
	bool data;

	if (!flow || at_rest(tp))
		return 1;
	header = header_of(packet);
	data = has_data(packet, header);
	leaving(flow, tp, data);
	if (!data)
		return 1;
	if (!flow->opened)
		open(flow, tp);
	tell(packet, flow, header, SENT);
	return 1;
}

SEC("cgroup_skb/ingress") int arrives(struct __sk_buff *packet)
{
	struct tcp_sock *tp = tcp_of(packet->sk);
	struct flow *flow = tp ? flow_of(tp) : NULL;
	struct header header;

	if (!flow || !flow->opened)
		return 1;
	header = header_of(packet);
	/* With nothing outstanding, only a report of duplicates (RFC 2883) matters. Over loopback an acknowledgement may arrive before TCP has
	 * recorded the transmission. */
	if (header.length > PORTS + STAMPED_HEADER || (header.length && flow->busy_since && !at_rest(tp)))
		tell(packet, flow, header, ARRIVED);
	return 1;
}

char LICENSE[] SEC("license") = "GPL";
