/* See firstflight_quicly.h.
 *
 * quicly reports each packet that leaves, the end of each ACK and then each packet that this ACK reveals as lost. The losses belong to
 * the ACK: the sender returns to its state before the ACK and receives both as one. Its clock counts milliseconds. */
#include "firstflight_quicly.h"

#include "../adapter.h"

#define MS UINT64_C(1000000)

struct state {
    struct ff_sender *sender, *before; /* now, and before the ACK that may still get losses */
    struct ff_ack ack;                 /* that ACK, if `open` */
    int open, begun;
    uint64_t inflight, sent, next, largest_end, mss;
    int64_t idle_since;
};

/* The union of quicly's own algorithms has room for a pointer. */
static struct state *state_of(quicly_cc_t const *cc) {
    struct state *s;
    _Static_assert(sizeof cc->state >= sizeof s, "no room for a pointer");
    memcpy(&s, &cc->state, sizeof s);
    return s;
}

static uint64_t srtt(struct state const *s, quicly_loss_t const *loss) { return s->begun ? loss->rtt.smoothed * MS : 0; }

/* Gives quicly the window, and what its pacer reads: it releases two windows in an RTT, or one while a jump is spread. */
static void apply(struct state *s, quicly_cc_t *cc, quicly_loss_t const *loss, int64_t now) {
    ff_before_send(s->sender, &(struct ff_ready){.size = sizeof(struct ff_ready), .now = (uint64_t)now * MS, .nxt = s->next,
                                                 .inflight = s->inflight, .backlog = FF_NONE, .srtt = srtt(s, loss),
                                                 .idle = s->inflight ? 0 : (uint64_t)(now - s->idle_since) * MS,
                                                 .timeout = (loss->rtt.smoothed + 4 * (uint64_t)loss->rtt.variance) * MS});
    uint64_t window = admitted(s->sender, s->inflight), threshold = ff_ssthresh(s->sender);
    cc->cwnd = window < UINT32_MAX ? (uint32_t)window : UINT32_MAX;
    cc->ssthresh = threshold < UINT32_MAX ? (uint32_t)threshold : UINT32_MAX;
    if (cc->cwnd_maximum < cc->cwnd) cc->cwnd_maximum = cc->cwnd;
    if (cc->cwnd_exiting_slow_start == 0 && ff_exit(s->sender, &(struct ff_exit_info){.size = sizeof(struct ff_exit_info)}) == 1)
        cc->cwnd_exiting_slow_start = cc->cwnd, cc->exit_slow_start_at = now;
    if (strcmp(ff_phase(s->sender), "jump")) quicly_cc_jumpstart_reset(cc);
    else if (!quicly_cc_in_jumpstart(cc)) cc->jumpstart.enter_pn = s->next;
}

static void on_acked(quicly_cc_t *cc, quicly_loss_t const *loss, uint32_t bytes, uint64_t largest, uint32_t inflight, int limited,
                     uint64_t next, int64_t now, uint32_t packet) {
    struct state *s = state_of(cc);
    if (packet != s->mss) ff_set_mss(s->sender, s->mss = packet);
    /* A sample comes with each packet that is the largest acknowledged so far; below a millisecond it reads 0. */
    uint64_t rtt = largest + 1 > s->largest_end ? (loss->rtt.latest ? loss->rtt.latest * MS : MS / 2) : 0;
    uint64_t mark = ff_recovery_mark(s->sender);
    if (!s->begun) s->begun = 1, ff_on_handshake_rtt(s->sender, (uint64_t)now * MS, loss->rtt.smoothed * MS);
    if (largest + 1 > s->largest_end) s->largest_end = largest + 1;
    s->next = next, s->inflight = inflight - bytes, s->idle_since = now;
    s->ack = (struct ff_ack){.size = sizeof s->ack, .now = (uint64_t)now * MS, .acked = bytes,
                             .acked_fresh = mark == FF_NONE || largest >= mark ? bytes : 0, .rtt = rtt, .srtt = srtt(s, loss),
                             .una = s->largest_end, .nxt = next, .flight = s->inflight, .inflight_before = inflight,
                             .inflight = s->inflight, .sent = s->sent, .tx_acked_end = largest + 1, .tx_next = next,
                             .cwnd_limited = limited != 0, .app_limited = !limited};
    memcpy(s->before, s->sender, ff_sender_size());
    s->open = 1;
    ff_on_ack(s->sender, &s->ack);
    apply(s, cc, loss, now);
}

static void on_lost(quicly_cc_t *cc, quicly_loss_t const *loss, uint32_t bytes, uint64_t lost, uint64_t next, int64_t now, uint32_t packet) {
    struct state *s = state_of(cc);
    s->next = next;
    if (s->open && s->ack.now == (uint64_t)now * MS) {
        memcpy(s->sender, s->before, ff_sender_size());
    } else {
        /* A timer found the loss. */
        s->ack = (struct ff_ack){.size = sizeof s->ack, .now = (uint64_t)now * MS, .srtt = srtt(s, loss), .una = s->largest_end,
                                 .flight = s->inflight, .inflight_before = s->inflight, .sent = s->sent, .cwnd_limited = 1};
        memcpy(s->before, s->sender, ff_sender_size());
        s->open = 1;
    }
    int was = ff_in_recovery(s->sender);
    s->inflight -= bytes < s->inflight ? bytes : s->inflight;
    s->ack.lost += bytes, s->ack.inflight = s->inflight, s->ack.nxt = s->ack.tx_next = next;
    /* No bytes: marks (ECN-CE), not a loss. */
    if (bytes && lost + 1 > s->ack.tx_lost_end) s->ack.tx_lost_end = lost + 1;
    if (!bytes) s->ack.ce = 1;
    ff_on_ack(s->sender, &s->ack);
    /* One episode of quicly for each recovery, however many packets it begins with. */
    if (!was && lost >= cc->recovery_end) {
        cc->recovery_end = next, cc->num_loss_episodes++;
        cc->num_ecn_loss_episodes += bytes == 0, cc->episode_by_ecn = bytes == 0;
    }
    apply(s, cc, loss, now);
    if (cc->cwnd_minimum > cc->cwnd) cc->cwnd_minimum = cc->cwnd;
}

static void on_persistent_congestion(quicly_cc_t *cc, quicly_loss_t const *loss, int64_t now) {
    struct state *s = state_of(cc);
    s->open = 0;
    ff_on_congestion(s->sender, &(struct ff_congestion){.size = sizeof(struct ff_congestion), .now = (uint64_t)now * MS, .nxt = s->next,
                                                        .inflight_before = s->inflight, .timeout = FF_PERSISTENT_CONGESTION});
    apply(s, cc, loss, now);
}

static void on_sent(quicly_cc_t *cc, quicly_loss_t const *loss, uint32_t bytes, int64_t now) {
    struct state *s = state_of(cc);
    s->open = 0;
    /* Numbers that quicly skips come with the next ACK. */
    s->next++, s->sent += bytes, s->inflight = loss->sentmap.bytes_in_flight;
    ff_on_sent(s->sender, &(struct ff_sent){.size = sizeof(struct ff_sent), .now = (uint64_t)now * MS, .bytes = bytes, .nxt = s->next,
                                            .inflight = s->inflight, .srtt = srtt(s, loss)});
    uint64_t window = admitted(s->sender, s->inflight);
    cc->cwnd = window < UINT32_MAX ? (uint32_t)window : UINT32_MAX;
}

static int is_ours(quicly_cc_type_t *type) { return type && type->cc_on_acked == on_acked; }

/* A connection keeps its algorithm. */
static int on_switch(quicly_cc_t *cc) { return is_ours(cc->type); }

static void init(quicly_init_cc_t *super, quicly_cc_t *cc, uint32_t window, int64_t now) {
    struct firstflight_quicly *self = (struct firstflight_quicly *)super;
    struct ff_config config = {.size = sizeof config, .transport = FF_QUIC, .mss = self->packet, .initial_window = window};
    /* A path that changes begins anew, in the memory of the old one. */
    struct state *s = is_ours(cc->type) ? state_of(cc) : calloc(1, sizeof *s);
    if (s) *s = (struct state){.sender = s->sender, .before = s->before};
    if (!s || (!s->sender && !(s->sender = malloc(ff_sender_size()))) || (!s->before && !(s->before = malloc(ff_sender_size()))) ||
        ff_sender_init(s->sender, self->arm, &config, (uint64_t)now * MS) != FF_OK)
        abort(); /* no memory: quicly has no way to refuse a connection here, and firstflight_quicly_use has tried the arm */
    s->mss = self->packet, s->idle_since = now;
    memset(cc, 0, sizeof *cc);
    cc->type = &self->type;
    memcpy(&cc->state, &s, sizeof s);
    uint64_t first = ff_cwnd(s->sender);
    cc->cwnd = cc->cwnd_initial = cc->cwnd_maximum = first < UINT32_MAX ? (uint32_t)first : UINT32_MAX;
    cc->ssthresh = cc->cwnd_minimum = UINT32_MAX;
    cc->exit_slow_start_at = INT64_MAX;
    quicly_cc_jumpstart_reset(cc);
}

int firstflight_quicly_use(struct firstflight_quicly *self, char const *arm, quicly_context_t *context, char *why, size_t length) {
    static char const *const refused[] = {"bbr", "plumb", "suss", "chirping"};
    char const *pacer = begins_with(arm, refused, sizeof refused / sizeof *refused);
    if (strlen(arm) >= sizeof self->arm) return snprintf(why, length, "the text of the arm is too long"), -1;
    if (pacer) return snprintf(why, length, "%s needs a pacer of its own; quicly's releases one or two windows in an RTT", pacer), -1;
    if (try_arm(arm, 1200, why, length)) return -1;
    memset(self, 0, sizeof *self);
    self->super.cb = init;
    self->type = (struct st_quicly_cc_type_t){"firstflight", &self->super, on_acked, on_lost, on_persistent_congestion, on_sent, on_switch,
                                              NULL, NULL};
    memcpy(self->arm, arm, strlen(arm));
    self->packet = context->initial_egress_max_udp_payload_size;
    context->init_cc = &self->super;
    context->enable_ratio.pacing = 255;
    return 0;
}

static struct state *state_of_connection(quicly_conn_t *conn) {
    quicly_stats_t stats;
    return quicly_get_stats(conn, &stats) == 0 && is_ours(stats.cc.type) ? state_of(&stats.cc) : NULL;
}

struct ff_sender *firstflight_quicly_sender(quicly_conn_t *conn) {
    struct state *s = state_of_connection(conn);
    return s ? s->sender : NULL;
}

void firstflight_quicly_release(quicly_conn_t *conn) {
    struct state *s = state_of_connection(conn);
    if (s) free(s->sender), free(s->before), free(s);
}
