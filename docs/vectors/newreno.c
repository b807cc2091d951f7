/* NewReno of RFC 9002 behind firstflight's table of functions. Put your controller in its place.
 *
 *   cc -shared -fPIC -o newreno.so newreno.c                 and   firstflight conform table:newreno.so
 *   cc -o newreno run.c newreno.c && ./newreno vectors.json  for vectors of `--arms 'slowstart/reno(base=cwnd)/immediate'` */
#include "controller.h"
#include <stdbool.h>
#include <stdlib.h>

#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))

/* Windows in bytes. */
struct newreno {
    uint64_t mss, cwnd, ssthresh, carry, mark, tx_mark, old_cwnd, old_ssthresh, old_carry;
    bool in_recovery, marked, undo;
};

static void avoid(struct newreno *c, uint64_t acked) { /* RFC 9002 7.3.3 */
    uint64_t sum = c->mss * acked + c->carry, cwnd = c->cwnd;
    c->carry = sum % cwnd, c->cwnd += sum / cwnd;
}

static void on_ack(struct newreno *c, const struct firstflight_event *e) {
    if (c->in_recovery) { /* RFC 9002 7.3.2: until something sent after entry is acknowledged */
        if (e->una <= c->mark) return;
        c->in_recovery = false;
    }
    bool loss = e->lost_bytes > 0 && (!c->marked || (e->tx_lost != FIRSTFLIGHT_NONE && e->tx_lost >= c->tx_mark));
    if (loss || (e->ce && (!c->marked || e->una > c->mark))) {
        c->undo = loss, c->old_cwnd = c->cwnd, c->old_ssthresh = c->ssthresh, c->old_carry = c->carry;
        c->ssthresh = MAX(c->cwnd / 2, 2 * c->mss); /* RFC 9002 7.3.2 */
        c->cwnd = c->ssthresh, c->carry = 0, c->in_recovery = c->marked = true;
        c->mark = e->nxt, c->tx_mark = e->tx_next;
        return;
    }
    uint64_t acked = c->marked ? e->acked_fresh_bytes : e->acked_bytes;
    if (c->cwnd >= c->ssthresh) {
        if (e->cwnd_limited) avoid(c, acked); /* RFC 9002 7.8 */
    } else if (e->cwnd_limited || e->inflight_before_bytes >= c->cwnd / 2) {
        uint64_t used = MIN(acked, c->ssthresh - c->cwnd); /* RFC 9002 7.3.1 */
        c->cwnd += used;
        if (c->cwnd < c->ssthresh) return;
        c->carry = 0;
        if (e->cwnd_limited) avoid(c, acked - used);
    }
}

static void tell(void *controller, const struct firstflight_event *e) {
    struct newreno *c = controller;
    if (e->kind == FIRSTFLIGHT_ACK || e->kind == FIRSTFLIGHT_TIMER) {
        on_ack(c, e);
    } else if (e->kind == FIRSTFLIGHT_TIMEOUT) { /* persistent congestion, RFC 9002 7.6.2 */
        c->cwnd = 2 * c->mss, c->carry = 0, c->in_recovery = c->marked = c->undo = false;
    } else if (e->kind == FIRSTFLIGHT_SPURIOUS && c->undo) { /* RFC 9438 4.9 */
        if (c->in_recovery || c->cwnd < c->old_cwnd)
            c->cwnd = c->old_cwnd, c->ssthresh = c->old_ssthresh, c->carry = c->old_carry;
        c->undo = c->in_recovery = c->marked = false;
    }
}

static void *create(const struct firstflight_begin *begin) {
    struct newreno *c = calloc(1, sizeof *c);
    if (c) c->mss = begin->mss, c->cwnd = begin->initial_window, c->ssthresh = FIRSTFLIGHT_NONE;
    return c;
}

static struct firstflight_window window(const void *controller) {
    const struct newreno *c = controller;
    return (struct firstflight_window){.cwnd = c->cwnd, .ssthresh = c->ssthresh};
}

const struct firstflight_controller *firstflight_controller(void) {
    static const struct firstflight_controller table = {FIRSTFLIGHT_VERSION, create, tell, window, free};
    return &table;
}
