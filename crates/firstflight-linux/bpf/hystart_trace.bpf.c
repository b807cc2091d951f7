/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Records the state and decisions of the kernel's own CUBIC on every ACK: a controller that only calls CUBIC's functions, including HyStart,
 * and records their results. Used to compare its HyStart with the core's, ACK by ACK.
 *
 * After an idle period CUBIC's epoch is not shifted (its cwnd_event is not called): slow start has no epoch.
 */
#include "kernel.h"

enum record_kind { BEGUN, ACKED, TIMED_OUT };

#define MEMBER(type, name, about) type name;
struct hystart_record {
#include "hystart_record.def"
};
#undef MEMBER
#define MEMBER(type, name, about) + sizeof(type)
_Static_assert(sizeof(struct hystart_record) == 0
#include "hystart_record.def"
	, "user space reads one member after the other");
#undef MEMBER

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 23);
} records SEC(".maps");

/* Records dropped because the buffer was full. */
u64 lost;

static __always_inline void note(struct sock *sk, u8 kind, s32 rtt_us)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct hystart_record *r = bpf_ringbuf_reserve(&records, sizeof(*r), 0);

	if (!r) {
		__sync_fetch_and_add(&lost, 1);
		return;
	}
	r->socket = (u64)(long)sk;
	r->at_us = tp->tcp_mstamp;
	r->pacing_rate = sk->sk_pacing_rate;
	r->rtt_sample_us = rtt_us;
	r->cwnd = tp->snd_cwnd;
	r->ssthresh = tp->snd_ssthresh;
	r->una = tp->snd_una;
	r->nxt = tp->snd_nxt;
	r->packets_out = tp->packets_out;
	r->srtt_x8 = tp->srtt_us;
	r->mss = tp->mss_cache;
	r->gso_max_size = sk->sk_gso_max_size;
	r->pacing_status = sk->sk_pacing_status;
	r->kind_number = kind;
	r->state = CA_STATE(sk);
	r->found_flag = CUBIC_FOUND(sk);
	r->epoch_flag = *(u32 *)CUBIC_AT(sk, epoch_start) != 0;
	r->pad = 0;
	bpf_ringbuf_submit(r, 0);
}

SEC("struct_ops") void BPF_PROG(begun, struct sock *sk)
{
	cubictcp_init(sk);
	note(sk, BEGUN, -1);
}

/* HyStart runs in this callback. */
SEC("struct_ops") void BPF_PROG(acked, struct sock *sk, const struct ack_sample *sample)
{
	cubictcp_acked(sk, sample);
	note(sk, ACKED, sample->rtt_us);
}

SEC("struct_ops") void BPF_PROG(avoid, struct sock *sk, u32 ack, u32 acked)
{
	cubictcp_cong_avoid(sk, ack, acked);
}

SEC("struct_ops") u32 BPF_PROG(threshold, struct sock *sk)
{
	return cubictcp_recalc_ssthresh(sk);
}

/* A timeout resets HyStart. */
SEC("struct_ops") void BPF_PROG(state_changed, struct sock *sk, u8 state)
{
	cubictcp_state(sk, state);
	if (state == CA_LOSS)
		note(sk, TIMED_OUT, -1);
}

SEC("struct_ops") u32 BPF_PROG(undo, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops cubic_trace = {
	.flags = 1,
	.name = "ff_cubic_trace",
	.init = (void *)begun,
	.ssthresh = (void *)threshold,
	.undo_cwnd = (void *)undo,
	.cong_avoid = (void *)avoid,
	.set_state = (void *)state_changed,
	.pkts_acked = (void *)acked,
};

char LICENSE[] SEC("license") = "GPL";
