/* A transfer over one bottleneck in picoquic's own simulator, in virtual time:
 *
 *   download PICOQUIC ARM MBIT_PER_S RTT_MS QUEUE_MS BYTES [ACK_EVERY]
 *
 * PICOQUIC is the checkout, for its test certificates. The receiver acknowledges as picoquic does, up to a quarter of a round trip at once,
 * or with ACK_EVERY each time so many packets have arrived. ARM is an arm of firstflight, or picoquic:newreno, picoquic:cubic, ... The client
 * sends, so that its first packet of data leaves with the end of the handshake. Prints one line of key=value. */
#include "firstflight_picoquic.h"

#include <inttypes.h>
#include <picoquic_internal.h>
#include <picoquic_utils.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct receiver {
    uint64_t bytes, last, now;
};

static int at_server(picoquic_cnx_t *cnx, uint64_t stream, uint8_t *bytes, size_t length, picoquic_call_back_event_t event, void *context,
                     void *stream_context) {
    struct receiver *r = context;
    (void)cnx, (void)stream, (void)bytes, (void)stream_context;
    if (event == picoquic_callback_stream_data || event == picoquic_callback_stream_fin) r->bytes += length, r->last = r->now;
    return 0;
}

static int at_client(picoquic_cnx_t *cnx, uint64_t stream, uint8_t *bytes, size_t length, picoquic_call_back_event_t event, void *context,
                     void *stream_context) {
    (void)cnx, (void)stream, (void)bytes, (void)length, (void)event, (void)context, (void)stream_context;
    return 0;
}

static void address(struct sockaddr_in *a, uint32_t ip) {
    memset(a, 0, sizeof *a);
    a->sin_family = AF_INET, a->sin_port = htons(4433), a->sin_addr.s_addr = htonl(ip);
}

int main(int argc, char **argv) {
    if (argc < 7 || argc > 8) return fprintf(stderr, "download PICOQUIC ARM MBIT_PER_S RTT_MS QUEUE_MS BYTES [ACK_EVERY]\n"), 2;
    char cert[512], key[512], store[512], why[512];
    char const *arm = argv[2];
    int own = !strncmp(arm, "picoquic:", 9);
    double gbps = atof(argv[3]) / 1000;
    uint64_t rtt = (uint64_t)(atof(argv[4]) * 1000), queue = (uint64_t)(atof(argv[5]) * 1000), size = strtoull(argv[6], NULL, 10);
    snprintf(cert, sizeof cert, "%s/certs/cert.pem", argv[1]);
    snprintf(key, sizeof key, "%s/certs/key.pem", argv[1]);
    snprintf(store, sizeof store, "%s/certs/test-ca.crt", argv[1]);
    uint64_t every = argc == 8 ? strtoull(argv[7], NULL, 10) : 0;
    if (!own && firstflight_picoquic_why(arm, why, sizeof why)) return fprintf(stderr, "arm `%s`: %s\n", arm, why), 2;

    picoquic_register_all_congestion_control_algorithms();
    uint64_t now = 0;
    struct receiver r = {0};
    struct sockaddr_in addresses[2];
    address(&addresses[0], 0x0a000001), address(&addresses[1], 0x0a000002);
    /* 0 is the client, 1 the server; a link leads to the node of its number. */
    picoquic_quic_t *quic[2] = {
        picoquic_create(4, NULL, NULL, store, "ff", at_client, NULL, NULL, NULL, NULL, now, &now, NULL, NULL, 0),
        picoquic_create(4, cert, key, NULL, "ff", at_server, &r, NULL, NULL, NULL, now, &now, NULL, NULL, 0),
    };
    if (!quic[0] || !quic[1]) return fprintf(stderr, "no context: are there certificates in %s/certs?\n", argv[1]), 2;
    picoquic_set_null_verifier(quic[0]);
    for (int i = 0; i < 2; i++) {
        picoquic_set_default_pmtud_policy(quic[i], picoquic_pmtud_blocked);
        picoquic_tp_t parameters = *picoquic_get_default_tp(quic[i]);
        parameters.initial_max_data = parameters.initial_max_stream_data_bidi_remote = parameters.initial_max_stream_data_bidi_local = 1u << 30;
        picoquic_set_default_tp(quic[i], &parameters);
    }
    picoquic_congestion_algorithm_t const *algorithm = own ? picoquic_get_congestion_algorithm(arm + 9) : firstflight_picoquic_algorithm;
    if (!algorithm) return fprintf(stderr, "picoquic has no algorithm %s\n", arm + 9), 2;
    picoquic_cnx_t *cnx = picoquic_create_cnx(quic[0], picoquic_null_connection_id, picoquic_null_connection_id,
                                              (struct sockaddr *)&addresses[1], now, 0, "test.example.com", "ff", 1);
    /* Packets as large as in our simulator: no path that is probed. */
    cnx->path[0]->send_mtu = 1472;
    picoquic_set_congestion_algorithm_ex(cnx, algorithm, own ? NULL : arm);
    picoquic_start_client_cnx(cnx);
    uint8_t *data = calloc(1, size);
    picoquic_add_to_stream(cnx, 0, data, size, 1);
    free(data);
    picoquictest_sim_link_t *links[2] = {picoquictest_sim_link_create(1.0, rtt / 2, NULL, 0, now),
                                         picoquictest_sim_link_create(gbps, rtt / 2, NULL, queue, now)};
    uint64_t first = 0, packets = 0;
    while (r.bytes < size && now < 120000000) {
        uint64_t next = now + 1000000;
        int node = -1, link = -1;
        for (int i = 0; i < 2; i++) {
            uint64_t wake = picoquic_get_next_wake_time(quic[i], now);
            if (wake < next) next = wake, node = i, link = -1;
            if (links[i]->first_packet && links[i]->first_packet->arrival_time <= next) next = links[i]->first_packet->arrival_time, link = i, node = -1;
        }
        if (next > now) now = next;
        r.now = now;
        if (link >= 0) {
            picoquictest_sim_packet_t *p = picoquictest_sim_link_dequeue(links[link], now);
            picoquic_incoming_packet(quic[link], p->bytes, p->length, (struct sockaddr *)&p->addr_from, (struct sockaddr *)&p->addr_to, 0, 0, now);
            free(p);
            picoquic_cnx_t *receiving = picoquic_get_first_cnx(quic[1]);
            if (every && receiving) receiving->ack_gap_remote = every;
        } else if (node >= 0) {
            picoquictest_sim_packet_t *p = picoquictest_sim_link_create_packet();
            int interface = 0;
            picoquic_cnx_t *last = NULL;
            picoquic_prepare_next_packet(quic[node], now, p->bytes, sizeof p->bytes, &p->length, &p->addr_to, &p->addr_from, &interface, NULL, &last);
            if (!p->length) {
                free(p);
                continue;
            }
            if (!p->addr_from.ss_family) picoquic_store_addr(&p->addr_from, (struct sockaddr *)&addresses[node]);
            if (!node && !first && cnx->pkt_ctx[picoquic_packet_context_application].send_sequence) first = now;
            packets += !node && first;
            picoquictest_sim_link_submit(links[1 - node], p, now);
        }
    }
    struct ff_sender *sender = firstflight_picoquic_sender(cnx);
    struct ff_exit_info exit = {.size = sizeof exit, .reason = "-"};
    struct ff_misfed_info misfed = {.size = sizeof misfed, .rule = "-"};
    if (sender) ff_exit(sender, &exit), ff_misfed(sender, &misfed);
    printf("arm=%s complete=%d ms=%.1f loss_percent=%.2f packet=%zu timeouts=%" PRIu64 " exit=%s exit_ms=%.1f exit_cwnd=%" PRIu64 " misfed=%s\n",
           arm, r.bytes >= size, (double)(r.last - first) / 1000, packets ? 100.0 * (double)links[1]->packets_dropped / (double)packets : 0,
           cnx->path[0]->send_mtu, cnx->path[0]->nb_timer_losses, exit.reason, exit.at ? ((double)exit.at / 1000 - (double)first) / 1000 : 0, exit.detect_cwnd, misfed.rule);
    int done = r.bytes >= size;
    picoquic_free(quic[0]), picoquic_free(quic[1]);
    picoquictest_sim_link_delete(links[0]), picoquictest_sim_link_delete(links[1]);
    return done ? 0 : 1;
}
