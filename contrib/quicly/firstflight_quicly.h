/* The arms of firstflight as a congestion control of quicly. */
#ifndef FIRSTFLIGHT_QUICLY_H
#define FIRSTFLIGHT_QUICLY_H

#include <firstflight.h>
#include <quicly.h>
#include <quicly/cc.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An arm for the connections of a context; it has to live as long as the context. */
struct firstflight_quicly {
    quicly_init_cc_t super;
    struct st_quicly_cc_type_t type;
    char arm[256];
    uint16_t packet;
};

/* Prepares an arm and makes it the congestion control of a context, whose pacing it turns on:
 *
 *   static struct firstflight_quicly arm;
 *   if (firstflight_quicly_use(&arm, "rapid", &context, why, sizeof why)) fprintf(stderr, "%s\n", why);
 *
 * Returns 0. If the arm is not valid or needs a rate or packet trains of its own (bbr, bbr3, plumb, suss, chirping), which quicly's
 * pacer has not, it writes the reason to `why`, `length` bytes with the final 0, leaves the context alone and returns -1. */
int firstflight_quicly_use(struct firstflight_quicly *self, char const *arm, quicly_context_t *context, char *why, size_t length);

/* The sender of a connection, for ff_phase, ff_exit and ff_misfed; NULL if the connection runs another algorithm. */
struct ff_sender *firstflight_quicly_sender(quicly_conn_t *conn);

/* Frees the sender. Call this right before quicly_free: quicly does not tell a congestion control that its connection ends. */
void firstflight_quicly_release(quicly_conn_t *conn);

#ifdef __cplusplus
}
#endif
#endif
