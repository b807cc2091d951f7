/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* All arms, in the order of their numbers. */
#include "hystart_plus_plus.h"
#include "mode_a.h"

MODE_A(hystart_plus_plus, hystart_plus_plus, hspp_rfc9406, "ff_hystartpp")
MODE_A(hystart_plus_plus_lss, hystart_plus_plus, hspp_draft03, "ff_hystartpp_ls")

#define ALL_ARMS { &hystart_plus_plus, &hystart_plus_plus_lss }
