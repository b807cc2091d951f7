/* A transfer over one bottleneck between two endpoints of quicly, in virtual time:
 *
 *   download QUICLY ARM MBIT_PER_S RTT_MS QUEUE_MS BYTES
 *
 * QUICLY is the checkout, for its test certificate. ARM is an arm of firstflight, or quicly:reno, quicly:cubic, quicly:pico; quicly's pacer is
 * on. The client sends. Prints one line of key=value. */
#include "firstflight_quicly.h"

#include <inttypes.h>
#include <openssl/pem.h>
#include <picotls/openssl.h>
#include <quicly/defaults.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

struct packet {
    struct packet *next;
    uint64_t arrival;
    size_t length;
    uint8_t bytes[];
};

struct link {
    struct packet *first, **last;
    double ns_per_byte;
    uint64_t delay, queue, free, dropped;
};

/* ns; bytes: `shifted` of them have left the send buffer. */
static uint64_t now = 1000000000, received, delivered_at, size, shifted;

static int64_t clock_ms(quicly_now_t *self) { return (void)self, (int64_t)(now / 1000000); }
static uint64_t tls_clock(ptls_get_time_t *self) { return (void)self, now / 1000000; }
static quicly_now_t quic_now = {clock_ms};
static ptls_get_time_t tls_now = {tls_clock};

static void offer(struct link *link, struct iovec data) {
    if (link->free < now) link->free = now;
    if (link->free - now > link->queue) {
        link->dropped++;
        return;
    }
    struct packet *p = malloc(sizeof *p + data.iov_len);
    link->free += (uint64_t)((double)data.iov_len * link->ns_per_byte);
    p->next = NULL, p->arrival = link->free + link->delay, p->length = data.iov_len;
    memcpy(p->bytes, data.iov_base, data.iov_len);
    *link->last = p, link->last = &p->next;
}

static void on_destroy(quicly_stream_t *stream, quicly_error_t error) { (void)stream, (void)error; }
static void on_shift(quicly_stream_t *stream, size_t delta) { (void)stream, shifted += delta; }
static void on_emit(quicly_stream_t *stream, size_t at, void *to, size_t *length, int *all) {
    uint64_t left = size - shifted - at;
    (void)stream;
    if (*length >= left) *length = left, *all = 1;
    else *all = 0;
    memset(to, 'x', *length);
}
static void on_receive(quicly_stream_t *stream, size_t at, const void *data, size_t length) {
    (void)at, (void)data, (void)length;
    /* A complete stream has no ranges left. */
    int complete = quicly_recvstate_transfer_complete(&stream->recvstate);
    uint64_t contiguous = complete ? size : stream->recvstate.received.ranges[0].end;
    if (contiguous > received) {
        if (!complete) quicly_stream_sync_recvbuf(stream, contiguous - stream->recvstate.data_off);
        received = contiguous, delivered_at = now;
    }
}
static quicly_error_t on_open(quicly_stream_open_t *self, quicly_stream_t *stream) {
    static const quicly_stream_callbacks_t callbacks = {on_destroy, on_shift, on_emit, on_destroy, on_receive, on_destroy};
    (void)self;
    stream->callbacks = &callbacks;
    return 0;
}

/* Sends what the connection has. Returns the number of datagrams. */
static size_t run(quicly_conn_t *conn, struct link *out) {
    quicly_address_t to, from;
    struct iovec datagrams[16];
    size_t count = COUNT(datagrams);
    static uint8_t buffer[COUNT(datagrams) * 1500];
    if (quicly_send(conn, &to, &from, datagrams, &count, buffer, sizeof buffer) != 0) return 0;
    for (size_t i = 0; i < count; i++) offer(out, datagrams[i]);
    return count;
}

int main(int argc, char **argv) {
    if (argc != 7) return fprintf(stderr, "download QUICLY ARM MBIT_PER_S RTT_MS QUEUE_MS BYTES\n"), 2;
    char name[512], why[512];
    char const *arm = argv[2];
    uint64_t rtt = (uint64_t)(atof(argv[4]) * 1e6);
    struct link links[2] = {{.last = &links[0].first, .ns_per_byte = 8, .delay = rtt / 2, .queue = UINT64_MAX},
                            {.last = &links[1].first, .ns_per_byte = 8000 / atof(argv[3]), .delay = rtt / 2,
                             .queue = (uint64_t)(atof(argv[5]) * 1e6)}};
    size = strtoull(argv[6], NULL, 10);

    ptls_openssl_sign_certificate_t signer;
    ptls_context_t tls = {.random_bytes = ptls_openssl_random_bytes, .get_time = &tls_now, .key_exchanges = ptls_openssl_key_exchanges,
                          .cipher_suites = ptls_openssl_cipher_suites};
    snprintf(name, sizeof name, "%s/t/assets/server.key", argv[1]);
    FILE *file = fopen(name, "r");
    EVP_PKEY *key = file ? PEM_read_PrivateKey(file, NULL, NULL, NULL) : NULL;
    snprintf(name, sizeof name, "%s/t/assets/server.crt", argv[1]);
    if (!key || ptls_load_certificates(&tls, name) != 0) return fprintf(stderr, "no certificate in %s/t/assets\n", argv[1]), 2;
    fclose(file);
    ptls_openssl_init_sign_certificate(&signer, key);
    tls.sign_certificate = &signer.super;
    quicly_amend_ptls_context(&tls);
    quicly_stream_open_t opened = {on_open};
    quicly_context_t server = quicly_spec_context;
    /* As in our simulator. */
    server.initial_egress_max_udp_payload_size = 1472;
    server.now = &quic_now, server.tls = &tls, server.stream_open = &opened;
    server.transport_params.max_data = server.transport_params.max_stream_data.bidi_remote = 1u << 30;
    quicly_context_t client = server;
    struct firstflight_quicly ours;
    if (!strncmp(arm, "quicly:", 7)) {
        quicly_cc_type_t **one = quicly_cc_all_types;
        while (*one && strcmp((*one)->name, arm + 7)) one++;
        if (!*one) return fprintf(stderr, "quicly has no algorithm %s\n", arm + 7), 2;
        client.init_cc = (*one)->cc_init, client.enable_ratio.pacing = 255;
    } else if (firstflight_quicly_use(&ours, arm, &client, why, sizeof why)) {
        return fprintf(stderr, "arm `%s`: %s\n", arm, why), 2;
    }

    struct sockaddr_in addresses[2] = {{.sin_family = AF_INET, .sin_port = 1, .sin_addr.s_addr = 1}, {.sin_family = AF_INET, .sin_port = 2, .sin_addr.s_addr = 2}};
    struct sockaddr *at[2] = {(struct sockaddr *)&addresses[0], (struct sockaddr *)&addresses[1]};
    quicly_cid_plaintext_t cid = {0};
    quicly_conn_t *conns[2] = {NULL, NULL}; /* the client and the server; a link leads to the endpoint of its number */
    quicly_stream_t *stream;
    if (quicly_connect(&conns[0], &client, "test.example.com", at[1], at[0], &cid, ptls_iovec_init(NULL, 0), NULL, NULL, NULL) != 0)
        return fprintf(stderr, "cannot connect\n"), 1;
    cid.master_id++;
    uint64_t first = 0, sent = 0, end = now + 120u * UINT64_C(1000000000);
    while (received < size && now < end) {
        uint64_t next = end;
        for (int i = 0; i < 2; i++) {
            if (links[i].first && links[i].first->arrival < next) next = links[i].first->arrival;
            uint64_t wake = conns[i] ? (uint64_t)quicly_get_first_timeout(conns[i]) : UINT64_MAX;
            if (wake < UINT64_MAX / 2000000 && wake * 1000000 < next) next = wake * 1000000;
        }
        if (next > now) now = next;
        for (int i = 0; i < 2; i++) {
            while (links[i].first && links[i].first->arrival <= now) {
                struct packet *p = links[i].first;
                if (!(links[i].first = p->next)) links[i].last = &links[i].first;
                size_t offset = 0;
                while (offset < p->length) {
                    quicly_decoded_packet_t decoded;
                    if (quicly_decode_packet(i ? &server : &client, &decoded, p->bytes, p->length, &offset) == SIZE_MAX) break;
                    if (conns[i]) quicly_receive(conns[i], at[i], at[1 - i], &decoded);
                    else if (quicly_accept(&conns[i], &server, at[i], at[1 - i], &decoded, NULL, &cid, NULL, NULL) != 0) break;
                }
                free(p);
            }
        }
        /* The data begins when the handshake is complete. */
        if (!first && quicly_connection_is_ready(conns[0])) {
            if (quicly_open_stream(conns[0], &stream, 0) != 0 || quicly_sendstate_shutdown(&stream->sendstate, size) != 0 ||
                quicly_stream_sync_sendbuf(stream, 1) != 0)
                return fprintf(stderr, "cannot open a stream\n"), 1;
            first = now;
        }
        for (int i = 0; i < 2; i++)
            for (size_t count; conns[i] && quicly_get_first_timeout(conns[i]) <= (int64_t)(now / 1000000);) {
                if (!(count = run(conns[i], &links[1 - i]))) break;
                sent += i == 0 && first ? count : 0;
            }
    }
    struct ff_sender *sender = firstflight_quicly_sender(conns[0]);
    struct ff_exit_info exit = {.size = sizeof exit, .reason = "-"};
    struct ff_misfed_info misfed = {.size = sizeof misfed, .rule = "-"};
    if (sender) ff_exit(sender, &exit), ff_misfed(sender, &misfed);
    printf("arm=%s complete=%d ms=%.1f loss_percent=%.2f packet=%d timeouts=0 exit=%s exit_ms=%.1f exit_cwnd=%" PRIu64 " misfed=%s\n", arm,
           received >= size, (double)(delivered_at - first) / 1e6, sent ? 100.0 * (double)links[1].dropped / (double)sent : 0,
           client.initial_egress_max_udp_payload_size, exit.reason, exit.at ? ((double)exit.at - (double)first) / 1e6 : 0, exit.detect_cwnd,
           misfed.rule);
    for (int i = 0; i < 2; i++) {
        for (struct packet *p = links[i].first, *next; p; p = next) next = p->next, free(p);
        if (!conns[i]) continue;
        firstflight_quicly_release(conns[i]);
        quicly_free(conns[i]);
    }
    return received >= size ? 0 : 1;
}
