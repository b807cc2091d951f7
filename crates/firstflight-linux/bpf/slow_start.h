/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Classic slow start: one packet of window per packet acknowledged, until loss. The startup of the recovery arms. */
#ifndef FF_SLOW_START_H
#define FF_SLOW_START_H

#include "mode_b.h"

/* Kernel CUBIC with HyStart disabled for this socket only; the module parameter affects the whole machine. */
static const struct startup no_hystart_hooks = { .number = ARM_NO_HYSTART };

INLINE struct decision slow_start_grow(void *state, const struct ack *ack, u32 acked, struct window *w)
{
	return stay(double_window(ack, acked, w));
}

static const struct startup slow_start_then_prr = { .number = ARM_PRR, .grow = slow_start_grow };
static const struct startup slow_start_then_crb = { .number = ARM_PRR_CRB, .grow = slow_start_grow };
static const struct startup slow_start_then_ssrb = { .number = ARM_PRR_SSRB, .grow = slow_start_grow };
static const struct startup slow_start_then_ub = { .number = ARM_PRR_UB, .grow = slow_start_grow };
static const struct startup slow_start_then_rfc6675 = { .number = ARM_RFC6675, .grow = slow_start_grow };
static const struct startup slow_start_then_rate_halving = { .number = ARM_RATE_HALVING, .grow = slow_start_grow };

static const struct pacing_and_own prr_arm = { .startup = &slow_start_then_prr, .policy = &prr };
static const struct pacing_and_own crb_arm = { .startup = &slow_start_then_crb, .policy = &prr_crb };
static const struct pacing_and_own ssrb_arm = { .startup = &slow_start_then_ssrb, .policy = &prr_ssrb };
static const struct pacing_and_own ub_arm = { .startup = &slow_start_then_ub, .policy = &prr_ub };
static const struct pacing_and_own rfc6675_arm = { .startup = &slow_start_then_rfc6675, .policy = &rfc6675 };
static const struct pacing_and_own rate_halving_arm = { .startup = &slow_start_then_rate_halving, .policy = &rate_halving };
#endif
