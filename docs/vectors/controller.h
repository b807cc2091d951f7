/* A congestion controller as a table of C functions: what `firstflight conform table:FILE` loads, and what the
 * runner of vectors (run.c) is linked with. Numbers are 64 bits: bytes, nanoseconds, 0 or 1. */
#ifndef FIRSTFLIGHT_CONTROLLER_H
#define FIRSTFLIGHT_CONTROLLER_H
#include <stdint.h>

#define FIRSTFLIGHT_VERSION 1
/* A field that this event has not, or that is not known; a threshold that was never set. */
#define FIRSTFLIGHT_NONE UINT64_MAX

enum firstflight_kind {
    FIRSTFLIGHT_HANDSHAKE_RTT,
    FIRSTFLIGHT_READY, /* about to send a burst */
    FIRSTFLIGHT_SENT,
    FIRSTFLIGHT_ACK,
    FIRSTFLIGHT_TIMER, /* the loss timer: nothing is acknowledged */
    FIRSTFLIGHT_TIMEOUT,
    FIRSTFLIGHT_SPURIOUS, /* what was declared lost has arrived */
    FIRSTFLIGHT_MSS,
};
enum firstflight_timeout { FIRSTFLIGHT_RTO, FIRSTFLIGHT_RTO_AGAIN, FIRSTFLIGHT_PERSISTENT_CONGESTION };

/* The fields of an event, as docs/traces.md has them. */
#define FIRSTFLIGHT_FIELDS(FIELD) \
    FIELD(nxt) /* next packet number (QUIC) or next new sequence number (TCP) */ \
    FIELD(inflight_before_bytes) /* in flight just before the event */ \
    FIELD(inflight_after_bytes) /* in flight right after the event */ \
    FIELD(backlog_bytes) /* what the application and the peer's limits would let go at once */ \
    FIELD(rtt_ns) /* the RTT sample */ \
    FIELD(srtt_ns) /* smoothed RTT */ \
    FIELD(min_rtt_ns) /* smallest RTT of the connection */ \
    FIELD(idle_ns) /* how long nothing has been in flight */ \
    FIELD(timeout_ns) /* retransmission or probe timeout in force */ \
    FIELD(sent_bytes) /* sent, as the window counts it */ \
    FIELD(acked_bytes) /* newly delivered */ \
    FIELD(acked_fresh_bytes) /* of these, sent since the last recovery began */ \
    FIELD(lost_bytes) /* newly declared lost */ \
    FIELD(ce) /* the ACK newly reports congestion marks */ \
    FIELD(ce_bytes) /* of what was newly delivered, in packets that arrived marked */ \
    FIELD(una) /* largest acknowledged packet number + 1 (QUIC) or SND.UNA (TCP) */ \
    FIELD(advanced) /* `una` moved with this ACK */ \
    FIELD(flight_bytes) /* nxt - una (TCP) or in flight before losses are removed (QUIC) */ \
    FIELD(sacked_bytes) /* SACKed above `una` (TCP) */ \
    FIELD(delivered_total_bytes) /* delivered so far */ \
    FIELD(sent_total_bytes) /* sent so far, including retransmissions */ \
    FIELD(tx_acked) /* latest transmission among what was newly delivered */ \
    FIELD(tx_lost) /* latest transmission among what was newly declared lost */ \
    FIELD(tx_next) /* ordinal of the next transmission */ \
    FIELD(lost_again) /* a repeat was itself declared lost */ \
    FIELD(repeat_acked) /* `una` moved past a segment that was sent more than once (TCP) */ \
    FIELD(rescue_next) /* the next send would be the rescue retransmission of RFC 6675 */ \
    FIELD(cwnd_limited) /* the window was the limit since the last ACK */ \
    FIELD(app_limited) /* the application had nothing to send while the window was open */ \
    FIELD(receiver_ts) /* the receiver's clock when it sent the ACK, in ticks */ \
    FIELD(timeout) /* which timeout */ \
    FIELD(mss) /* largest packet */ \
    FIELD(unrepaired) /* something declared lost is neither acknowledged nor SACKed (TCP) */

#define FIRSTFLIGHT_MEMBER(name) uint64_t name;
struct firstflight_event {
    uint64_t kind;
    uint64_t now_ns;
    FIRSTFLIGHT_FIELDS(FIRSTFLIGHT_MEMBER)
};

struct firstflight_begin {
    uint64_t now_ns;
    uint64_t initial_window;
    uint64_t mss;
    uint64_t nxt;
};
struct firstflight_window {
    uint64_t cwnd;
    uint64_t ssthresh;
};

struct firstflight_controller {
    uint32_t version; /* FIRSTFLIGHT_VERSION */
    void *(*create)(const struct firstflight_begin *begin);
    void (*tell)(void *controller, const struct firstflight_event *event);
    struct firstflight_window (*window)(const void *controller);
    void (*destroy)(void *controller);
};

/* What a shared library exports. */
const struct firstflight_controller *firstflight_controller(void);
#endif
