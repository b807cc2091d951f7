/* firstflight: TCP and QUIC startup and loss recovery. Made from crates/firstflight-c/src; do not edit.
 *
 * The caller provides the memory of each sender (ff_sender_size bytes); the library allocates nothing. One thread at a time may use a
 * sender. Times are nanoseconds, windows and data bytes. Set the `size` of every struct to sizeof that struct, and every field that
 * you do not use to 0.
 *
 *   struct ff_config config = {.size = sizeof config, .transport = FF_QUIC, .mss = 1200};
 *   void *sender = malloc(ff_sender_size());
 *   if (ff_sender_init(sender, "hystart++", &config, now) != FF_OK) fprintf(stderr, "%s\n", ff_last_error(sender));
 */

#ifndef FIRSTFLIGHT_H
#define FIRSTFLIGHT_H

#include <stddef.h>
#include <stdint.h>

// No value: a threshold that was never set, a mark that does not exist.
#define FF_NONE UINT64_MAX

// The call succeeded.
#define FF_OK 0

// A pointer is NULL.
#define FF_NULL -1

// The sender's memory is not aligned to `ff_sender_align()`.
#define FF_MISALIGNED -2

// The memory holds no sender: `ff_sender_init` was not called or failed, or an earlier call returned `FF_BUG`.
#define FF_NOT_A_SENDER -3

// The `size` of a struct is too small, or the struct is of a newer version and uses what this library does not know.
#define FF_SIZE -4

// The arm is not valid; `ff_last_error` says why.
#define FF_ARM -5

// A value is out of its range; `ff_last_error` names it.
#define FF_VALUE -6

// A bug in this library. The sender must not be used again.
#define FF_BUG -7

// QUIC's rules: packet numbers, RFC 9002.
#define FF_QUIC 0

// TCP's rules: sequence numbers, RFC 5681 and RFC 6675.
#define FF_TCP 1

// The default of the arm or the transport.
#define FF_DEFAULT 0

// On.
#define FF_ON 1

// Off.
#define FF_OFF 2

// TCP: the retransmission timer expired for the first time in a series.
#define FF_RTO 0

// TCP: the retransmission timer expired again.
#define FF_RTO_AGAIN 1

// QUIC: persistent congestion (RFC 9002 section 7.6).
#define FF_PERSISTENT_CONGESTION 2

// A sender, in memory that the caller provides.
struct ff_sender;

// Configuration of a connection.
struct ff_config {
    // `sizeof(struct ff_config)`.
    size_t size;
    // `FF_QUIC` or `FF_TCP`.
    uint32_t transport;
    // Turns pacing on (`FF_ON`) or off (`FF_OFF`). `FF_DEFAULT` paces QUIC but not TCP. The arm's `@(pace=..)` overrides this field.
    uint32_t paced;
    // Largest payload of a packet as the window counts it, in bytes: 1 to 65536.
    uint64_t mss;
    // Initial window in bytes, at most 2^40; 0: ten packets as in RFC 6928 and RFC 9002. The arm's `@(iw=..)` overrides this field.
    uint64_t initial_window;
    // The first packet number (QUIC) or sequence number (TCP).
    uint64_t nxt;
    // Depth of the pacer's bucket in bytes, at most 2^30; 0: ten packets. The arm's `@(burst=..)` overrides this field.
    uint64_t burst;
    // Largest burst that leaves in one send call, in bytes (GSO), at most 2^30; 0: ten packets (QUIC), 64 KiB (TCP).
    uint64_t max_burst;
    // TCP: `FF_ON` or `FF_DEFAULT` if the connection uses SACK, `FF_OFF` if not.
    uint32_t sack;
    // 0.
    uint32_t reserved;
};

// A point in time on the caller's monotonic clock, in nanoseconds since any origin.
typedef uint64_t ff_time;

// Describes the state of the connection before a burst is sent.
struct ff_ready {
    // `sizeof(struct ff_ready)`.
    size_t size;
    // The current time.
    ff_time now;
    // Next packet number (QUIC) or next new sequence number (TCP).
    uint64_t nxt;
    // Bytes in flight.
    uint64_t inflight;
    // Bytes that the application and the peer's limits allow to be sent now; `FF_NONE` if there is no limit.
    uint64_t backlog;
    // Smoothed RTT in ns; 0 if there was no sample yet.
    uint64_t srtt;
    // Time since the last byte left flight, in ns; 0 if bytes are in flight.
    uint64_t idle;
    // Retransmission timeout (TCP) or probe timeout (QUIC) in force, in ns.
    uint64_t timeout;
};

// Describes a packet or burst that was sent.
struct ff_sent {
    // `sizeof(struct ff_sent)`.
    size_t size;
    // The current time.
    ff_time now;
    // Bytes sent, new and repeated, as the window counts them.
    uint64_t bytes;
    // Next packet number (QUIC) or highest sequence number sent so far (TCP), after this send.
    uint64_t nxt;
    // Bytes in flight, these included.
    uint64_t inflight;
    // Smoothed RTT in ns; 0 if there was no sample yet.
    uint64_t srtt;
};

// Describes an ACK, or losses that a timer found (then `acked` and `rtt` are 0). Set every field up to `app_limited`. Only some
// transports know the fields after it.
struct ff_ack {
    // `sizeof(struct ff_ack)`.
    size_t size;
    // When the ACK arrived at the host.
    ff_time now;
    // Bytes newly delivered: cumulative and SACK, each byte once (TCP); newly acknowledged packets that were in flight (QUIC).
    uint64_t acked;
    // Of `acked`, bytes sent at or after `ff_recovery_mark` (RFC 9002 section 7.3.2). Only QUIC's rules use it; a transport that
    // cannot tell sets `acked`.
    uint64_t acked_fresh;
    // Bytes newly declared lost.
    uint64_t lost;
    // RTT sample in ns; 0 if there is none.
    uint64_t rtt;
    // Smoothed RTT in ns, this sample included; 0 if there was none yet.
    uint64_t srtt;
    // Largest acknowledged packet number + 1 (QUIC), SND.UNA (TCP).
    uint64_t una;
    // Next packet number (QUIC), SND.NXT (TCP).
    uint64_t nxt;
    // `nxt - una` (TCP); bytes in flight after removing `acked` and before removing `lost` (QUIC).
    uint64_t flight;
    // TCP: bytes SACKed above `una`. QUIC: 0.
    uint64_t sacked;
    // Bytes in flight just before this ACK.
    uint64_t inflight_before;
    // Bytes in flight after removing `acked` and `lost`.
    uint64_t inflight;
    // Bytes sent on this connection so far, repeats included.
    uint64_t sent;
    // Ordinal + 1 of the latest transmission among what was newly delivered (QUIC: packet number + 1); 0 if nothing was.
    uint64_t tx_acked_end;
    // Ordinal + 1 of the latest transmission among what was newly declared lost; 0 if nothing was. TCP: if an original is declared lost after its repeat was sent,
    // this is the original.
    uint64_t tx_lost_end;
    // Ordinal of the next transmission (QUIC: `nxt`).
    uint64_t tx_next;
    // Nonzero: the ACK newly reports congestion marks (ECN-CE).
    uint8_t ce;
    // Nonzero: the window was the limit since the last ACK, not the application and not the peer. Waiting for the pacer counts as
    // limited by the window.
    uint8_t cwnd_limited;
    // Nonzero: the application had nothing to send while the window was open.
    uint8_t app_limited;
    // TCP, nonzero: a repeat that was sent in this recovery was itself declared lost.
    uint8_t lost_again;
    // TCP, nonzero: `una` passed a segment that was sent more than once.
    uint8_t repeat_acked;
    // TCP, nonzero: the next transmission would be the rescue retransmission of RFC 6675.
    uint8_t rescue_next;
    // TCP, nonzero: something declared lost is neither acknowledged nor SACKed.
    uint8_t unrepaired;
    // TCP, nonzero: what this ACK SACKs grows the window as if `una` had moved (Linux after reordering).
    uint8_t sack_advances;
    // Of `acked`, bytes in packets that arrived with an ECN mark; 0 if there were none or the transport cannot tell.
    uint64_t ce_bytes;
    // The receiver's clock when it sent the ACK, in ticks (TCP TSval), if `has_receiver_ts` is nonzero.
    uint32_t receiver_ts;
    // Nonzero: `receiver_ts` is known.
    uint8_t has_receiver_ts;
    // 0.
    uint8_t reserved[3];
};

// Describes a timeout or persistent congestion.
struct ff_congestion {
    // `sizeof(struct ff_congestion)`.
    size_t size;
    // The current time.
    ff_time now;
    // Next packet number (QUIC), SND.NXT (TCP).
    uint64_t nxt;
    // Bytes in flight just before.
    uint64_t inflight_before;
    // `FF_RTO`, `FF_RTO_AGAIN` or `FF_PERSISTENT_CONGESTION`.
    uint32_t timeout;
    // 0.
    uint32_t reserved;
};

// Describes the end of startup.
struct ff_exit_info {
    // `sizeof(struct ff_exit_info)`, set by the caller.
    size_t size;
    // The time of the exit.
    ff_time at;
    // Time since the first byte was sent, in ns.
    uint64_t since_first_send;
    // Round trips completed.
    uint64_t rounds;
    // Window before any reduction, in bytes.
    uint64_t detect_cwnd;
    // Window right after, in bytes.
    uint64_t cwnd;
    // Bytes in flight just before the deciding ACK.
    uint64_t inflight;
    // The value that decided, in the algorithm's own unit; `FF_NONE` if there is none.
    uint64_t estimate;
    // The reason, a static string: "loss", "delay", "css_done", ...
    const char *reason;
};

// Describes impossible reports of the transport.
struct ff_misfed_info {
    // `sizeof(struct ff_misfed_info)`, set by the caller.
    size_t size;
    // Time of the first such report.
    ff_time at;
    // Number of such reports.
    uint64_t count;
    // The rule that the first such report broke, a static string: "time_back", "more_delivered", ...
    const char *rule;
};

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Returns the version of the library, such as "0.1.0".
const char *ff_version(void);

// Returns the size of a sender in bytes, the same for every arm.
size_t ff_sender_size(void);

// Returns the alignment of a sender in bytes. Memory from `malloc` has it.
size_t ff_sender_align(void);

// Initialises a sender of `arm` ("hystart++", "rapid/cubic/prr@(iw=32)", ...) in `memory`, which is then a `struct ff_sender`. Free
// nothing but the memory itself.
int32_t ff_sender_init(void *memory,
                       const char *arm,
                       const struct ff_config *config,
                       ff_time now);

// Returns a sentence about the last error of this sender, valid until the next call for this sender. After a failed `ff_sender_init`,
// pass the same memory.
const char *ff_last_error(const void *memory);

// Records the RTT that the handshake measured, in ns.
int32_t ff_on_handshake_rtt(struct ff_sender *sender, ff_time now, uint64_t rtt);

// Call this before each burst, and before `ff_can_send`: it may start a train or end an idle period.
int32_t ff_before_send(struct ff_sender *sender, const struct ff_ready *ready);

// Records packets that were sent, and takes their bytes from the pacer's bucket.
int32_t ff_on_sent(struct ff_sender *sender, const struct ff_sent *sent);

// Processes an ACK, or losses that a timer found.
int32_t ff_on_ack(struct ff_sender *sender, const struct ff_ack *ack);

// Processes a timeout or persistent congestion.
int32_t ff_on_congestion(struct ff_sender *sender, const struct ff_congestion *congestion);

// Undoes the last window reduction, because the packets that were declared lost have arrived.
int32_t ff_on_spurious(struct ff_sender *sender);

// Sets the largest payload of a packet, in bytes: 1 to 65536.
int32_t ff_set_mss(struct ff_sender *sender, uint64_t mss);

// Returns the congestion window in bytes; 0 without a sender.
uint64_t ff_cwnd(const struct ff_sender *sender);

// Returns the slow-start threshold in bytes; `FF_NONE` until it is set.
uint64_t ff_ssthresh(const struct ff_sender *sender);

// Returns 1 if window and recovery allow the sender to send `bytes` with `inflight` bytes already in flight, 0 otherwise.
int32_t ff_can_send(const struct ff_sender *sender,
                    uint64_t bytes,
                    uint64_t inflight);

// Returns the pacing rate in bytes per second; 0 if packets are not paced, or not yet.
uint64_t ff_pacing_rate(const struct ff_sender *sender);

// Returns the time, `now` or later, at which the pacer releases a packet of `bytes` bytes with `inflight` bytes in flight. For
// transports without a pacer.
ff_time ff_next_send_time(struct ff_sender *sender,
                          ff_time now,
                          uint64_t bytes,
                          uint64_t inflight);

// Returns 1 if packets should be marked ECT(1) to request the low-latency service of L4S, 0 otherwise.
int32_t ff_is_l4s(const struct ff_sender *sender);

// Returns 1 during a recovery, 0 otherwise.
int32_t ff_in_recovery(const struct ff_sender *sender);

// Returns the number of the first packet (QUIC) or byte (TCP) sent after the last recovery began, which `acked_fresh` of `struct ff_ack`
// needs; `FF_NONE` if there was no recovery.
uint64_t ff_recovery_mark(const struct ff_sender *sender);

// Returns the phase of the sender, a static string: "startup", "css", "recovery", "avoidance", ...; "" without a sender.
const char *ff_phase(const struct ff_sender *sender);

// Returns the number of round trips that startup has completed.
uint32_t ff_rounds(const struct ff_sender *sender);

// Returns 1 and fills `exit` if startup has ended, 0 if not, a negative code on an error.
int32_t ff_exit(struct ff_sender *sender, struct ff_exit_info *exit);

// Returns 1 and fills `misfed` if the transport made impossible reports, such as time that goes backwards or more bytes delivered than
// sent; 0 if not, a negative code on an error. Tests of a transport should check that it returns 0.
int32_t ff_misfed(struct ff_sender *sender,
                  struct ff_misfed_info *misfed);

// Calls `visit` with the name and value of each inner signal of startup and avoidance, for logs. The name is valid during the call only.
int32_t ff_signals(const struct ff_sender *sender,
                   void (*visit)(void *user, const char *name, uint64_t value),
                   void *user);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* FIRSTFLIGHT_H */
