/* libfirstflight behind firstflight's table of functions: any arm as a controller that `firstflight conform` and the runner of vectors
 * drive through C. FIRSTFLIGHT_ARM and FIRSTFLIGHT_TRANSPORT (quic, tcp) in the environment choose it.
 *
 *   cc -shared -fPIC -I docs/vectors -o table.so table.c $(pkg-config --cflags --libs firstflight)
 *   FIRSTFLIGHT_ARM=hystart++ firstflight conform table:./table.so --against hystart++ --strict */
#include "controller.h"
#include <firstflight.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t some(uint64_t value) { return value == FIRSTFLIGHT_NONE ? 0 : value; }
static uint8_t flag(uint64_t value) { return value == 1; }
static uint64_t end(uint64_t ordinal) { return ordinal == FIRSTFLIGHT_NONE ? 0 : ordinal + 1; }

static void *create(const struct firstflight_begin *begin) {
    const char *arm = getenv("FIRSTFLIGHT_ARM"), *transport = getenv("FIRSTFLIGHT_TRANSPORT");
    struct ff_config config = {.size = sizeof config,
                               .transport = transport && !strcmp(transport, "tcp") ? FF_TCP : FF_QUIC,
                               .mss = begin->mss,
                               .initial_window = begin->initial_window,
                               .nxt = begin->nxt};
    void *sender = malloc(ff_sender_size());
    if (sender && ff_sender_init(sender, arm ? arm : "hystart++", &config, begin->now_ns) != FF_OK) {
        fprintf(stderr, "%s\n", ff_last_error(sender));
        free(sender);
        return NULL;
    }
    return sender;
}

static int tell(struct ff_sender *sender, const struct firstflight_event *e) {
    switch (e->kind) {
    case FIRSTFLIGHT_HANDSHAKE_RTT: return ff_on_handshake_rtt(sender, e->now_ns, e->rtt_ns);
    case FIRSTFLIGHT_READY:
        return ff_before_send(sender, &(struct ff_ready){.size = sizeof(struct ff_ready),
                                                         .now = e->now_ns,
                                                         .nxt = e->nxt,
                                                         .inflight = e->inflight_before_bytes,
                                                         .backlog = e->backlog_bytes,
                                                         .srtt = some(e->srtt_ns),
                                                         .idle = some(e->idle_ns),
                                                         .timeout = some(e->timeout_ns)});
    case FIRSTFLIGHT_SENT:
        return ff_on_sent(sender, &(struct ff_sent){.size = sizeof(struct ff_sent),
                                                    .now = e->now_ns,
                                                    .bytes = e->sent_bytes,
                                                    .nxt = e->nxt,
                                                    .inflight = e->inflight_after_bytes,
                                                    .srtt = some(e->srtt_ns)});
    case FIRSTFLIGHT_ACK:
    case FIRSTFLIGHT_TIMER:
        return ff_on_ack(sender, &(struct ff_ack){.size = sizeof(struct ff_ack),
                                                  .now = e->now_ns,
                                                  .acked = some(e->acked_bytes),
                                                  .acked_fresh = some(e->acked_fresh_bytes),
                                                  .lost = some(e->lost_bytes),
                                                  .rtt = some(e->rtt_ns),
                                                  .srtt = some(e->srtt_ns),
                                                  .una = e->una,
                                                  .nxt = e->nxt,
                                                  .flight = e->flight_bytes,
                                                  .sacked = some(e->sacked_bytes),
                                                  .inflight_before = e->inflight_before_bytes,
                                                  .inflight = e->inflight_after_bytes,
                                                  .sent = e->sent_total_bytes,
                                                  .tx_acked_end = end(e->tx_acked),
                                                  .tx_lost_end = end(e->tx_lost),
                                                  .tx_next = e->tx_next,
                                                  .ce = flag(e->ce),
                                                  .cwnd_limited = flag(e->cwnd_limited),
                                                  .app_limited = flag(e->app_limited),
                                                  .lost_again = flag(e->lost_again),
                                                  .repeat_acked = flag(e->repeat_acked),
                                                  .rescue_next = flag(e->rescue_next),
                                                  .unrepaired = flag(e->unrepaired),
                                                  .ce_bytes = some(e->ce_bytes),
                                                  .receiver_ts = (uint32_t)some(e->receiver_ts),
                                                  .has_receiver_ts = e->receiver_ts != FIRSTFLIGHT_NONE});
    case FIRSTFLIGHT_TIMEOUT:
        return ff_on_congestion(sender, &(struct ff_congestion){.size = sizeof(struct ff_congestion),
                                                                .now = e->now_ns,
                                                                .nxt = e->nxt,
                                                                .inflight_before = e->inflight_before_bytes,
                                                                .timeout = (uint32_t)e->timeout});
    case FIRSTFLIGHT_SPURIOUS: return ff_on_spurious(sender);
    default: return ff_set_mss(sender, e->mss);
    }
}

static void tell_or_stop(void *sender, const struct firstflight_event *event) {
    if (tell(sender, event) != FF_OK) {
        fprintf(stderr, "%s\n", ff_last_error(sender));
        abort();
    }
}

static struct firstflight_window window(const void *sender) {
    return (struct firstflight_window){.cwnd = ff_cwnd(sender), .ssthresh = ff_ssthresh(sender)};
}

const struct firstflight_controller *firstflight_controller(void) {
    static const struct firstflight_controller table = {FIRSTFLIGHT_VERSION, create, tell_or_stop, window, free};
    return &table;
}
