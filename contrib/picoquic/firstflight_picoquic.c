/* See firstflight_picoquic.h. picoquic keeps a path's window, pacer and packet counters in its internal header, which every congestion
 * control of picoquic includes.
 *
 * picoquic reports RTT samples, losses, marks and the end of an ACK, but no packet that leaves. It counts them: the bytes sent and the
 * packet numbers used since the last report are one send, at the time of the latest of them. */
#include "firstflight_picoquic.h"

#include "../adapter.h"

#include <picoquic_internal.h>

#include <cc_common.h>

/* What a lost packet takes of the bytes in transit beside its reported length: the tag of QUIC's ciphers. */
#define TAG 16
/* Packets that the pacer releases at once (RFC 9002 section 7.7). */
#define BURST 10
/* Timeouts in a row after which congestion is persistent. */
#define PERSISTENT 3

struct state {
    char arm[256];
    uint64_t mss;
    int begun;
    /* picoquic's counters at the last report. */
    uint64_t bytes_sent, in_transit, next;
    /* Bytes sent since the sender began, and the time of the last report. */
    uint64_t sent;
    ff_time now, idle_since;
    /* What belongs to the ACK that is being processed. */
    uint64_t rtt, lost, lost_end;
    int in_ack, marked;
    /* Packets declared lost since the window was last cut, and how many of them have arrived after all. */
    uint64_t episode_lost, episode_arrived, episode_from;
    struct ff_sender *sender;
};

int firstflight_picoquic_why(char const *arm, char *why, size_t length) {
    static char const *const trains[] = {"plumb", "suss", "chirping"};
    char const *train = begins_with(arm, trains, sizeof trains / sizeof *trains);
    if (strlen(arm) >= sizeof ((struct state *)0)->arm) return snprintf(why, length, "the text is too long"), -1;
    if (train) return snprintf(why, length, "%s sends packet trains, and the pacer of picoquic has one rate", train), -1;
    return try_arm(arm, 1252, why, length);
}

static uint64_t srtt(picoquic_path_t const *path) { return path->rtt_is_initialized ? path->smoothed_rtt * 1000 : 0; }

/* Gives picoquic the window and the rate, after an event. */
static void apply(struct state *s, picoquic_path_t *path) {
    ff_before_send(s->sender, &(struct ff_ready){.size = sizeof(struct ff_ready), .now = s->now, .nxt = s->next, .inflight = s->in_transit,
                                                 .backlog = FF_NONE, .srtt = srtt(path),
                                                 .idle = s->in_transit || !s->idle_since ? 0 : s->now - s->idle_since,
                                                 .timeout = path->retransmit_timer * 1000});
    path->cwin = admitted(s->sender, s->in_transit);
    path->is_ssthresh_initialized = ff_ssthresh(s->sender) != FF_NONE;
    uint64_t rate = ff_pacing_rate(s->sender);
    if (rate) picoquic_update_pacing_rate(path, (double)rate, BURST * s->mss);
    else picoquic_update_pacing_data(path, !path->is_ssthresh_initialized);
}

static int begin(struct state *s, picoquic_cnx_t *cnx, picoquic_path_t *path, ff_time now) {
    struct ff_config config = {.size = sizeof config, .transport = FF_QUIC, .mss = path->send_mtu};
    s->mss = path->send_mtu;
    if (ff_sender_init(s->sender, s->arm, &config, now) != FF_OK) return -1;
    s->begun = 1, s->now = now, s->bytes_sent = path->bytes_sent, s->in_transit = path->bytes_in_transit;
    s->next = picoquic_cc_get_sequence_number(cnx, path);
    if (srtt(path)) ff_on_handshake_rtt(s->sender, now, srtt(path));
    return 0;
}

/* Reports the packets that left since the last report. Returns the bytes in transit before the present event removed any. */
static uint64_t report_sent(struct state *s, picoquic_cnx_t *cnx, picoquic_path_t *path) {
    uint64_t bytes = path->bytes_sent - s->bytes_sent, at = path->last_sent_time * 1000;
    if (!bytes) return s->in_transit;
    s->bytes_sent = path->bytes_sent, s->sent += bytes, s->in_transit += bytes;
    s->next = picoquic_cc_get_sequence_number(cnx, path);
    if (at > s->now) s->now = at;
    ff_on_sent(s->sender, &(struct ff_sent){.size = sizeof(struct ff_sent), .now = s->now, .bytes = bytes, .nxt = s->next,
                                            .inflight = s->in_transit, .srtt = srtt(path)});
    return s->in_transit;
}

/* Reports an ACK, or losses that a timer found. */
static void report_ack(struct state *s, picoquic_cnx_t *cnx, picoquic_path_t *path, int delivers) {
    uint64_t before = s->in_transit, gone = before > path->bytes_in_transit ? before - path->bytes_in_transit : 0;
    uint64_t lost = s->lost < gone ? s->lost : gone, acked = delivers ? gone - lost : 0;
    uint64_t highest = picoquic_cc_get_ack_number(cnx, path), una = highest == UINT64_MAX ? 0 : highest + 1;
    uint64_t mark = ff_recovery_mark(s->sender);
    int limited = path->last_time_acked_data_frame_sent > path->last_sender_limited_time;
    int was_in_recovery = ff_in_recovery(s->sender);
    s->in_transit = path->bytes_in_transit;
    s->idle_since = s->in_transit ? 0 : s->now;
    ff_on_ack(s->sender, &(struct ff_ack){.size = sizeof(struct ff_ack), .now = s->now, .acked = acked,
                                          .acked_fresh = mark == FF_NONE || una > mark ? acked : 0, .lost = lost,
                                          .rtt = delivers ? s->rtt : 0, .srtt = srtt(path), .una = una, .nxt = s->next,
                                          .flight = before - acked, .inflight_before = before, .inflight = s->in_transit, .sent = s->sent,
                                          .tx_acked_end = acked ? una : 0, .tx_lost_end = lost ? s->lost_end : 0, .tx_next = s->next,
                                          .ce = (uint8_t)s->marked, .cwnd_limited = (uint8_t)limited, .app_limited = (uint8_t)!limited});
    if (lost && !was_in_recovery) s->episode_from = s->lost_end ? s->lost_end - 1 : 0;
    s->rtt = s->lost = s->lost_end = 0, s->in_ack = s->marked = 0;
}

static void firstflight_init(picoquic_path_t *path, char const *options, uint64_t now) {
    char why[512] = "no memory";
    char const *arm = options && *options ? options : "hystart++";
    struct state *s = calloc(1, sizeof *s);
    (void)now;
    path->congestion_alg_state = NULL;
    path->cwin = PICOQUIC_CWIN_INITIAL;
    if (firstflight_picoquic_why(arm, why, sizeof why) || !s || !(s->sender = malloc(ff_sender_size()))) {
        fprintf(stderr, "firstflight: arm `%s`: %s\n", arm, why);
        free(s);
        return;
    }
    memcpy(s->arm, arm, strlen(arm));
    path->congestion_alg_state = s;
}

static void firstflight_notify(picoquic_cnx_t *cnx, picoquic_path_t *path, picoquic_congestion_notification_t what,
                               picoquic_per_ack_state_t *ack, uint64_t current_time) {
    struct state *s = path->congestion_alg_state;
    ff_time now = current_time * 1000;
    if (!s) return;
    path->is_cc_data_updated = 1;
    if (what == picoquic_congestion_notification_reset) s->begun = 0;
    if (!s->begun) {
        /* The first sample of the RTT, or the first packet of the application, whichever comes first. */
        if (!path->rtt_is_initialized && !picoquic_cc_get_sequence_number(cnx, path)) return;
        if (begin(s, cnx, path, now)) return;
        apply(s, path);
        return;
    }
    int data = !ack || ack->pc == picoquic_packet_context_application;
    report_sent(s, cnx, path);
    if (now > s->now) s->now = now;
    if (path->send_mtu != s->mss) ff_set_mss(s->sender, s->mss = path->send_mtu);
    switch (what) {
    case picoquic_congestion_notification_rtt_measurement:
        s->rtt = ack->rtt_measurement * 1000, s->in_ack = 1;
        return;
    case picoquic_congestion_notification_ecn_ec: s->marked = 1; return;
    case picoquic_congestion_notification_spurious_repeat:
        if (data && ack->lost_packet_number >= s->episode_from && ++s->episode_arrived == s->episode_lost) ff_on_spurious(s->sender);
        return;
    case picoquic_congestion_notification_repeat:
    case picoquic_congestion_notification_timeout:
        if (!ff_in_recovery(s->sender) && !s->lost) s->episode_lost = s->episode_arrived = 0;
        s->episode_lost++;
        s->lost += ack->nb_bytes_newly_lost + TAG;
        if (data && ack->lost_packet_number >= s->lost_end) s->lost_end = ack->lost_packet_number + 1;
        if (s->in_ack) return; /* the end of the ACK follows */
        report_ack(s, cnx, path, 0);
        if (what == picoquic_congestion_notification_timeout && path->nb_retransmit >= PERSISTENT)
            ff_on_congestion(s->sender, &(struct ff_congestion){.size = sizeof(struct ff_congestion), .now = s->now, .nxt = s->next,
                                                                .inflight_before = s->in_transit, .timeout = FF_PERSISTENT_CONGESTION});
        break;
    case picoquic_congestion_notification_acknowledgement:
        /* Packets of the handshake only leave the flight. */
        if (data) report_ack(s, cnx, path, 1);
        else s->in_transit = path->bytes_in_transit, s->rtt = 0, s->in_ack = 0;
        break;
    case picoquic_congestion_notification_cwin_blocked:
    case picoquic_congestion_notification_restart_from_idle: break;
    default: return;
    }
    apply(s, path);
}

static void firstflight_delete(picoquic_path_t *path) {
    struct state *s = path->congestion_alg_state;
    if (s) free(s->sender);
    free(s);
    path->congestion_alg_state = NULL;
}

static void firstflight_observe(picoquic_path_t *path, uint64_t *state, uint64_t *parameter) {
    struct state *s = path->congestion_alg_state;
    uint64_t threshold = s && s->begun ? ff_ssthresh(s->sender) : FF_NONE;
    *state = s && s->begun && ff_in_recovery(s->sender);
    *parameter = threshold == FF_NONE ? 0 : threshold;
}

/* Numbers below 32 are picoquic's own. */
static picoquic_congestion_algorithm_t const algorithm = {"firstflight", 70, PICOQUIC_ECN_ECT_0, firstflight_init, firstflight_notify,
                                                          firstflight_delete, firstflight_observe};
picoquic_congestion_algorithm_t const *firstflight_picoquic_algorithm = &algorithm;

struct ff_sender *firstflight_picoquic_sender(picoquic_cnx_t *cnx) {
    struct state *s = cnx->congestion_alg == &algorithm ? cnx->path[0]->congestion_alg_state : NULL;
    return s && s->begun ? s->sender : NULL;
}
