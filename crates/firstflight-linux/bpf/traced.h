/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Writes a record whenever the kernel passes an ACK to a controller, before the controller acts, and whenever the state of the socket
 * changes. The next record shows the effect of an ACK. Only the object for traces (FF_TRACED) contains this code; in the others the calls
 * are empty.
 */
#ifndef FF_TRACED_H
#define FF_TRACED_H

enum trace_kind { TRACE_BEGUN, TRACE_ACKED, TRACE_STATE };

#ifdef FF_TRACED
/* Layout of kernel/acks.rs. */
struct trace_record {
	u64 socket, at_us;
	u32 cwnd, ssthresh, packets_out, sacked_out, lost_out, retrans_out, max_packets_out; /* packets */
	u32 delivered, lost, sent; /* packets since the start of the connection, wrapping */
	u32 una, nxt;		   /* bytes, wrapping */
	s32 rtt_us;		   /* negative: no sample */
	u32 srtt_x8, mss, gso_max_size, receiver_ts;
	u8 kind, state, to, limited, app_limited, has_ts, paced, pad;
};
_Static_assert(sizeof(struct trace_record) == 96, "the layout that user space reads");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 23);
} acks SEC(".maps");

/* Records dropped because the buffer was full. */
u64 unrecorded;

static inline __attribute__((always_inline)) void trace(struct sock *sk, u8 kind, s32 rtt_us, u8 to)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct trace_record *r = bpf_ringbuf_reserve(&acks, sizeof(*r), 0);

	if (!r) {
		__sync_fetch_and_add(&unrecorded, 1);
		return;
	}
	r->socket = (u64)(long)sk;
	r->at_us = tp->tcp_mstamp;
	r->cwnd = tp->snd_cwnd;
	r->ssthresh = tp->snd_ssthresh;
	r->packets_out = tp->packets_out;
	r->sacked_out = tp->sacked_out;
	r->lost_out = tp->lost_out;
	r->retrans_out = tp->retrans_out;
	r->max_packets_out = tp->max_packets_out;
	r->delivered = tp->delivered;
	r->lost = tp->lost;
	r->sent = tp->data_segs_out;
	r->una = tp->snd_una;
	r->nxt = tp->snd_nxt;
	r->rtt_us = rtt_us;
	r->srtt_x8 = tp->srtt_us;
	r->mss = tp->mss_cache;
	r->gso_max_size = sk->sk_gso_max_size;
	r->receiver_ts = tp->rx_opt.rcv_tsval;
	r->kind = kind;
	r->state = CA_STATE(sk);
	r->to = to;
	r->limited = CWND_LIMITED(tp);
	r->app_limited = tp->app_limited != 0;
	r->has_ts = SAW_TIME_STAMP(tp);
	r->paced = sk->sk_pacing_status != 0;
	r->pad = 0;
	bpf_ringbuf_submit(r, 0);
}
#else
#define trace(sk, kind, rtt_us, to)
#endif
#endif
