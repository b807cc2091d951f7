/* The arms of firstflight as a congestion control of picoquic. */
#ifndef FIRSTFLIGHT_PICOQUIC_H
#define FIRSTFLIGHT_PICOQUIC_H

#include <firstflight.h>
#include <picoquic.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The algorithm "firstflight". Its option string is the arm; "hystart++" if there is none:
 *
 *   picoquic_set_default_congestion_algorithm_ex(quic, firstflight_picoquic_algorithm, "rapid");
 *
 * An arm that is not valid, or that needs packet trains (plumb, suss, chirping), is named on standard error, and the connection
 * keeps picoquic's initial window. firstflight_picoquic_why says so before a connection is made. */
extern picoquic_congestion_algorithm_t const *firstflight_picoquic_algorithm;

/* Returns 0 if the arm runs in picoquic. Otherwise writes the reason to `why`, `length` bytes with the final 0, and returns -1. */
int firstflight_picoquic_why(char const *arm, char *why, size_t length);

/* The sender of a connection's first path, for ff_phase, ff_exit and ff_misfed; NULL if the connection runs another algorithm. */
struct ff_sender *firstflight_picoquic_sender(picoquic_cnx_t *cnx);

#ifdef __cplusplus
}
#endif
#endif
