/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The controllers as native code, with the minimum of a kernel that can call them: the tests drive it and the core crate with the same ACKs.
 * CUBIC is replaced by the simplest avoidance with CUBIC's beta, one packet per acknowledged window; the tests use the same in the core.
 */
#include "mode_a.h"
#include "arms.h"

_Thread_local struct exit_record exits;

static struct tcp_sock *tcp(struct sock *sk)
{
	return (struct tcp_sock *)sk;
}

void cubictcp_init(struct sock *sk)
{
	((struct connection *)sk)->cong_avoid_credit = 0;
}

/* 717/1024 of the window, at least two packets. */
u32 cubictcp_recalc_ssthresh(struct sock *sk)
{
	return max32((u32)((u64)tcp(sk)->snd_cwnd * 717 / 1024), 2);
}

void native_avoid(struct sock *sk, u32 acked)
{
	u32 *credit = &((struct connection *)sk)->cong_avoid_credit;
	u32 cwnd = tcp(sk)->snd_cwnd;

	*credit += acked;
	tcp(sk)->snd_cwnd = cwnd + *credit / cwnd;
	*credit %= cwnd;
}

void cubictcp_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	if (is_limited(tcp(sk)))
		native_avoid(sk, acked);
}

void cubictcp_state(struct sock *sk, u8 state)
{
}

void cubictcp_acked(struct sock *sk, const struct ack_sample *sample)
{
}

u32 tcp_reno_undo_cwnd(struct sock *sk)
{
	return max32(tcp(sk)->snd_cwnd, tcp(sk)->prior_cwnd);
}

/* Saved parameters for the next connection of this thread, and those of the last one. */
static _Thread_local u32 saved_cwnd, saved_rtt_us, left_cwnd;

bool take_saved(struct sock *sk, u32 *cwnd, u32 *rtt_us)
{
	*cwnd = saved_cwnd;
	*rtt_us = saved_rtt_us;
	return saved_cwnd != 0;
}

void give_back(struct sock *sk, bool used, bool refuted, u32 cwnd, u32 rtt_us, bool at_least)
{
	left_cwnd = cwnd;
}

void ff_save(u32 cwnd, u32 rtt_us)
{
	saved_cwnd = cwnd;
	saved_rtt_us = rtt_us;
}

/* A snapshot of the kernel's state; layout of tests/native/mod.rs. */
struct facts {
	u64 now_us, bytes_acked, pacing_rate;
	u32 una, nxt, packets_out, sacked_out, lost_out, retrans_out, max_packets_out, delivered, sent, prr_out, srtt_us, cwnd_limited, app_limited;
	u32 has_ts, receiver_ts, write_seq, rttvar_us;
};

#define ARM(number, map, mode, state, hooks, kernel_name, name, outcomes, about) [ARM_##number] = &map,
static const struct arm *const arms[] = {
#include "arms.def"
};
#undef ARM

/* Ends the connection; returns its saved parameters. */
u32 ff_release(struct connection *c, u32 arm)
{
	left_cwnd = 0;
	if (arms[arm]->release)
		arms[arm]->release((struct sock *)c);
	return left_cwnd;
}

u64 ff_connection_size(void)
{
	return sizeof(struct connection);
}

u32 ff_arms(void)
{
	return sizeof(arms) / sizeof(arms[0]);
}

const char *ff_name(u32 arm)
{
	return arms[arm]->name;
}

/* `facts` contain the time, the first sequence number and the RTT of the handshake. */
void ff_init(struct connection *c, u32 arm, u32 cwnd, u32 mss, bool paced)
{
	c->tp.snd_cwnd = cwnd;
	c->tp.snd_cwnd_clamp = ~0u;
	c->tp.mss_cache = mss;
	c->tp.inet_conn.icsk_inet.sk.sk_max_pacing_rate = ~0ul;
	c->tp.inet_conn.icsk_inet.sk.sk_pacing_status = paced;
	c->tp.inet_conn.icsk_inet.sk.sk_gso_max_size = 65536;
	arms[arm]->init((struct sock *)c);
}

void ff_set_facts(struct connection *c, const struct facts *f)
{
	struct tcp_sock *tp = &c->tp;

	tp->tcp_mstamp = f->now_us;
	tp->bytes_acked = f->bytes_acked;
	tp->inet_conn.icsk_inet.sk.sk_pacing_rate = f->pacing_rate;
	tp->snd_una = f->una;
	tp->snd_nxt = f->nxt;
	tp->packets_out = f->packets_out;
	tp->sacked_out = f->sacked_out;
	tp->lost_out = f->lost_out;
	tp->retrans_out = f->retrans_out;
	tp->max_packets_out = f->max_packets_out;
	tp->delivered = f->delivered;
	tp->data_segs_out = f->sent;
	tp->prr_out = f->prr_out;
	tp->srtt_us = f->srtt_us;
	tp->is_cwnd_limited = f->cwnd_limited;
	tp->app_limited = f->app_limited;
	tp->rx_opt.saw_tstamp = f->has_ts;
	tp->rx_opt.rcv_tsval = f->receiver_ts;
	tp->write_seq = f->write_seq;
	tp->rttvar_us = f->rttvar_us;
}

void ff_pkts_acked(struct connection *c, u32 arm, u32 acked, s32 rtt_us)
{
	struct ack_sample sample = { .pkts_acked = acked, .rtt_us = rtt_us };

	if (arms[arm]->pkts_acked)
		arms[arm]->pkts_acked((struct sock *)c, &sample);
}

void ff_cong_avoid(struct connection *c, u32 arm, u32 acked)
{
	if (arms[arm]->cong_avoid)
		arms[arm]->cong_avoid((struct sock *)c, c->tp.snd_una, acked);
}

/* Passes an ACK as the rate sample of mode B. */
struct sample {
	u32 acked, losses, rtt_us, in_flight_before, delivered_when_sent, is_retrans;
};

void ff_cong_control(struct connection *c, u32 arm, const struct sample *sample)
{
	struct rate_sample rs = {
		.prior_mstamp = 1,
		.prior_delivered = sample->delivered_when_sent,
		.delivered = sample->acked,
		.prior_in_flight = sample->in_flight_before,
		.rtt_us = sample->rtt_us == NO_RTT ? -1 : (long)sample->rtt_us,
		.losses = sample->losses,
		.acked_sacked = sample->acked,
		.is_retrans = sample->is_retrans,
	};

	if (arms[arm]->cong_control)
		arms[arm]->cong_control((struct sock *)c, &rs);
}

bool ff_is_asked_before_sending(u32 arm)
{
	return arms[arm]->min_tso_segs != NULL;
}

/* Minimum number of packets that leave as one. */
u32 ff_before_send(struct connection *c, u32 arm)
{
	return arms[arm]->min_tso_segs((struct sock *)c);
}

/* Starts a reduction (states 2 to 4): the threshold is requested once, before the state changes. */
void ff_reduce(struct connection *c, u32 arm, u8 state, bool ask)
{
	struct sock *sk = (struct sock *)c;

	if (ask) {
		c->tp.prior_cwnd = c->tp.snd_cwnd;
		c->tp.snd_ssthresh = arms[arm]->ssthresh(sk);
	}
	arms[arm]->set_state(sk, state);
	c->tp.inet_conn.icsk_ca_state = state;
}

void ff_open(struct connection *c, u32 arm)
{
	arms[arm]->set_state((struct sock *)c, CA_OPEN);
	c->tp.inet_conn.icsk_ca_state = CA_OPEN;
}

/* Restores the old threshold, unlike the kernel (K1). */
void ff_undo(struct connection *c, u32 arm, u32 ssthresh)
{
	c->tp.snd_cwnd = arms[arm]->undo_cwnd((struct sock *)c);
	c->tp.snd_ssthresh = ssthresh;
	ff_open(c, arm);
}

void ff_event(struct connection *c, u32 arm, u32 event)
{
	arms[arm]->cwnd_event((struct sock *)c, event);
}

u8 ff_state(const struct connection *c)
{
	return c->tp.inet_conn.icsk_ca_state;
}

u32 ff_cwnd(const struct connection *c)
{
	return c->tp.snd_cwnd;
}

void ff_set_cwnd(struct connection *c, u32 cwnd)
{
	c->tp.snd_cwnd = cwnd;
}

void ff_set_ssthresh(struct connection *c, u32 ssthresh)
{
	c->tp.snd_ssthresh = ssthresh;
}

u32 ff_ssthresh(const struct connection *c)
{
	return c->tp.snd_ssthresh;
}

/* Every state starts with `struct common`. */
const u8 *ff_outcomes(const struct connection *c)
{
	return ((const struct common *)c->state)->outcomes;
}

u64 ff_pacing_rate(const struct connection *c)
{
	return c->tp.inet_conn.icsk_inet.sk.sk_pacing_rate;
}

const struct exit_record *ff_last_exit(void)
{
	return &exits;
}
