/* What the adapters of picoquic and quicly share. */
#ifndef FIRSTFLIGHT_ADAPTER_H
#define FIRSTFLIGHT_ADAPTER_H

#include <firstflight.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returns the entry of `names` with which the arm begins, or NULL. */
static inline char const *begins_with(char const *arm, char const *const *names, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (!strncmp(arm, names[i], strlen(names[i]))) return names[i];
    return NULL;
}

/* Tries the arm with packets of `mss` bytes. Returns 0, or -1 with the reason in `why`: the arm is wrong, or sets ECT(1). */
static inline int try_arm(char const *arm, uint64_t mss, char *why, size_t length) {
    struct ff_config config = {.size = sizeof config, .transport = FF_QUIC, .mss = mss};
    void *memory = malloc(ff_sender_size());
    int code = memory ? ff_sender_init(memory, arm, &config, 0) : FF_NULL;
    int l4s = code == FF_OK && ff_is_l4s(memory);
    if (l4s) snprintf(why, length, "it needs packets marked ECT(1)");
    else if (code != FF_OK) snprintf(why, length, "%s", memory ? ff_last_error(memory) : "no memory");
    free(memory);
    return code == FF_OK && !l4s ? 0 : -1;
}

/* Returns the most bytes that may be in flight: the window, or what a recovery admits. */
static inline uint64_t admitted(struct ff_sender const *sender, uint64_t inflight) {
    if (!ff_in_recovery(sender)) return ff_cwnd(sender);
    uint64_t least = 0, most = ff_cwnd(sender) + 1;
    while (most - least > 1) {
        uint64_t middle = least + (most - least) / 2;
        if (ff_can_send(sender, middle, inflight)) least = middle;
        else most = middle;
    }
    return inflight + least;
}

#endif
