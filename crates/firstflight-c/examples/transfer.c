/* Puts a startup into a protocol of your own: a file transfer over UDP with numbered packets and one ACK per packet.
 *
 *   cc -o transfer transfer.c $(pkg-config --cflags --libs firstflight)
 *   ./transfer receive 4000 &
 *   ./transfer send 127.0.0.1 4000 5000000 hystart++
 *
 * What a transport adds to libfirstflight stands here: packet numbers, an RTT estimate, bytes in flight, loss detection (RFC 9002), and
 * a loop that asks the window and the pacer before each packet. The payload is zero bytes. */
#define _POSIX_C_SOURCE 200809L
#include <arpa/inet.h>
#include <firstflight.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define PACKET 1200           /* bytes of a packet, its header included */
#define WINDOW 65536          /* packets that can be outstanding */
#define REORDERING 3          /* RFC 9002 section 6.1.1 */
#define DONE UINT64_MAX       /* a packet that says goodbye */

struct header {
    uint64_t number; /* of the packet: each transmission has a new one */
    uint64_t chunk;  /* of the data */
};

/* A packet that was sent: nothing, in flight, or done with. */
struct flight {
    uint64_t number, chunk;
    ff_time at;
    int outstanding;
};

static struct flight flights[WINDOW];
static uint64_t *again; /* chunks to be sent again */
static uint64_t again_count;

static ff_time now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (ff_time)t.tv_sec * 1000000000u + (ff_time)t.tv_nsec;
}

static int fail(const char *what) {
    perror(what);
    return 1;
}

static int receive_all(int port) {
    int s = socket(AF_INET, SOCK_DGRAM, 0);
    struct sockaddr_in here = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_ANY)}, peer;
    if (s < 0 || bind(s, (struct sockaddr *)&here, sizeof here)) return fail("bind");
    char packet[PACKET];
    uint64_t chunks = 0, size = 0;
    char *have = NULL;
    for (;;) {
        socklen_t length = sizeof peer;
        ssize_t got = recvfrom(s, packet, sizeof packet, 0, (struct sockaddr *)&peer, &length);
        struct header h;
        if (got < (ssize_t)sizeof h) continue;
        memcpy(&h, packet, sizeof h);
        sendto(s, &h, sizeof h, 0, (struct sockaddr *)&peer, length);
        if (h.number == DONE) break;
        if (h.chunk >= size) {
            uint64_t more = h.chunk * 2 + 1024;
            char *grown = realloc(have, more);
            if (!grown) return fail("realloc");
            memset(grown + size, 0, more - size);
            have = grown, size = more;
        }
        chunks += !have[h.chunk], have[h.chunk] = 1;
    }
    free(have), close(s);
    return printf("received %llu packets\n", (unsigned long long)chunks), 0;
}

/* What the sender knows about the path and its data. */
struct state {
    struct ff_sender *sender;
    uint64_t next, largest_acked, inflight, sent, acked_chunks, lost_packets;
    uint64_t srtt, rttvar, timeouts;
    ff_time last_ack;
    int limited; /* the window was the limit since the last ACK */
};

static void on_rtt(struct state *c, uint64_t rtt) { /* RFC 9002 section 5.3 */
    if (!c->srtt) {
        c->srtt = rtt, c->rttvar = rtt / 2;
        return;
    }
    uint64_t apart = c->srtt > rtt ? c->srtt - rtt : rtt - c->srtt;
    c->rttvar = (3 * c->rttvar + apart) / 4, c->srtt = (7 * c->srtt + rtt) / 8;
}

/* Takes packets below `below` that are still outstanding for lost. Returns their number and the latest of them + 1. */
static uint64_t declare_lost(struct state *c, uint64_t below, uint64_t *latest_end) {
    uint64_t lost = 0, from = c->next > WINDOW ? c->next - WINDOW : 0;
    for (uint64_t n = from; n < below; n++) {
        struct flight *f = &flights[n % WINDOW];
        if (!f->outstanding || f->number != n) continue;
        f->outstanding = 0, again[again_count++] = f->chunk, lost++, *latest_end = n + 1;
    }
    c->lost_packets += lost;
    return lost;
}

/* One ACK of packet `number`, or the loss timer (`number` is DONE). */
static void on_ack(struct state *c, uint64_t number, ff_time at) {
    struct ff_ack ack = {.size = sizeof ack, .now = at, .inflight_before = c->inflight, .nxt = c->next, .tx_next = c->next, .sent = c->sent};
    if (number != DONE) {
        struct flight *f = &flights[number % WINDOW];
        if (!f->outstanding || f->number != number) return;
        f->outstanding = 0, c->acked_chunks++, c->last_ack = at, c->timeouts = 0;
        if (number >= c->largest_acked) on_rtt(c, ack.rtt = at - f->at), c->largest_acked = number;
        uint64_t mark = ff_recovery_mark(c->sender);
        ack.acked = PACKET, ack.tx_acked_end = number + 1;
        ack.acked_fresh = mark == FF_NONE || number >= mark ? PACKET : 0;
        if (number >= REORDERING) ack.lost = PACKET * declare_lost(c, number - REORDERING + 1, &ack.tx_lost_end);
    } else {
        ack.lost = PACKET * declare_lost(c, c->next, &ack.tx_lost_end);
    }
    ack.srtt = c->srtt, ack.una = c->acked_chunks ? c->largest_acked + 1 : 0;
    ack.flight = c->inflight - ack.acked, c->inflight = ack.inflight = ack.flight - ack.lost;
    ack.cwnd_limited = (uint8_t)c->limited, ack.app_limited = !c->limited, c->limited = 0;
    ff_on_ack(c->sender, &ack);
}

/* When nothing has been acknowledged for so long that everything outstanding counts as lost. */
static ff_time timer(const struct state *c) {
    return c->last_ack + ((2 * c->srtt + 4 * c->rttvar + 200000000u) << (c->timeouts < 6 ? c->timeouts : 6));
}

/* Waits for an ACK, at most until `wake`. */
static void wait_until(int s, ff_time wake) {
    ff_time at = now(), wait = wake > at ? wake - at : 0;
    struct timeval limit = {(time_t)(wait / 1000000000u), (suseconds_t)(wait % 1000000000u / 1000)};
    fd_set readable;
    FD_ZERO(&readable);
    FD_SET(s, &readable);
    select(s + 1, &readable, NULL, NULL, &limit);
}

static int send_all(const char *host, int port, uint64_t bytes, const char *arm) {
    struct ff_config config = {.size = sizeof config, .transport = FF_QUIC, .mss = PACKET};
    struct state c = {.sender = malloc(ff_sender_size()), .last_ack = now()};
    uint64_t chunks = (bytes + PACKET - 1) / PACKET, fresh = 0;
    again = malloc((WINDOW + 1) * sizeof *again);
    if (!c.sender || !again) return fail("malloc");
    if (ff_sender_init(c.sender, arm, &config, now()) != FF_OK) return fprintf(stderr, "%s\n", ff_last_error(c.sender)), 2;
    int s = socket(AF_INET, SOCK_DGRAM, 0);
    struct sockaddr_in peer = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    if (inet_pton(AF_INET, host, &peer.sin_addr) != 1 || connect(s, (struct sockaddr *)&peer, sizeof peer)) return fail(host);

    ff_time start = now(), idle_since = start, wake = start;
    char packet[PACKET] = {0};
    while (c.acked_chunks < chunks) {
        ff_time at = now();
        uint64_t left = chunks - fresh + again_count;
        ff_before_send(c.sender, &(struct ff_ready){.size = sizeof(struct ff_ready), .now = at, .nxt = c.next, .inflight = c.inflight,
                                                    .backlog = left * PACKET, .srtt = c.srtt, .idle = c.inflight ? 0 : at - idle_since,
                                                    .timeout = c.srtt + 4 * c.rttvar});
        wake = timer(&c);
        for (; left > 0 && c.inflight < (WINDOW - 1) * PACKET; left--) {
            at = now();
            if (!ff_can_send(c.sender, PACKET, c.inflight)) {
                c.limited = 1;
                break;
            }
            ff_time release = ff_next_send_time(c.sender, at, PACKET, c.inflight);
            if (release > at) {
                wake = release < wake ? release : wake, c.limited = 1;
                break;
            }
            struct header h = {c.next, again_count ? again[--again_count] : fresh++};
            memcpy(packet, &h, sizeof h);
            flights[c.next % WINDOW] = (struct flight){c.next, h.chunk, at, 1};
            if (send(s, packet, PACKET, 0) < 0) perror("send"); /* as if the network had lost it */
            if (c.inflight == 0) c.last_ack = at;
            c.next++, c.sent += PACKET, c.inflight += PACKET;
            ff_on_sent(c.sender, &(struct ff_sent){.size = sizeof(struct ff_sent), .now = at, .bytes = PACKET, .nxt = c.next,
                                                   .inflight = c.inflight, .srtt = c.srtt});
        }
        wait_until(s, wake);
        struct header h;
        while (recv(s, &h, sizeof h, MSG_DONTWAIT) == (ssize_t)sizeof h) on_ack(&c, h.number, now());
        if (c.inflight == 0) idle_since = now();
        if (c.inflight > 0 && now() >= timer(&c)) {
            c.last_ack = now(), c.timeouts++;
            uint64_t before = c.inflight;
            on_ack(&c, DONE, c.last_ack);
            if (c.timeouts >= 3)
                ff_on_congestion(c.sender, &(struct ff_congestion){.size = sizeof(struct ff_congestion), .now = c.last_ack, .nxt = c.next,
                                                                   .inflight_before = before, .timeout = FF_PERSISTENT_CONGESTION});
        }
    }
    double ms = (double)(now() - start) / 1e6;
    struct header bye = {DONE, 0};
    for (int tries = 0; tries < 5; tries++) { /* until it is acknowledged */
        if (send(s, &bye, sizeof bye, 0) < 0) break; /* the receiver has left */
        wait_until(s, now() + 2 * c.srtt + 200000000u);
        while (recv(s, &bye, sizeof bye, MSG_DONTWAIT) == (ssize_t)sizeof bye)
            if (bye.number == DONE) tries = 5;
        bye = (struct header){DONE, 0};
    }
    printf("%s: %llu packets in %.1f ms, %llu lost, cwnd %llu bytes, phase %s\n", arm, (unsigned long long)chunks, ms,
           (unsigned long long)c.lost_packets, (unsigned long long)ff_cwnd(c.sender), ff_phase(c.sender));
    struct ff_exit_info exit = {.size = sizeof exit};
    if (ff_exit(c.sender, &exit) == 1)
        printf("left startup because of %s at %llu bytes\n", exit.reason, (unsigned long long)exit.detect_cwnd);
    struct ff_misfed_info misfed = {.size = sizeof misfed};
    int wrong = ff_misfed(c.sender, &misfed);
    if (wrong) fprintf(stderr, "reported what cannot be: %s\n", misfed.rule);
    free(c.sender), free(again), close(s);
    return wrong;
}

int main(int argc, char **argv) {
    if (argc == 3 && !strcmp(argv[1], "receive")) return receive_all(atoi(argv[2]));
    if (argc == 6 && !strcmp(argv[1], "send")) return send_all(argv[2], atoi(argv[3]), strtoull(argv[4], NULL, 10), argv[5]);
    return fprintf(stderr, "transfer receive PORT | transfer send ADDRESS PORT BYTES ARM\n"), 2;
}
