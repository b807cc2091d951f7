/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* All arms, in the order of their numbers. */
#include "best_published.h"
#include "hystart.h"
#include "hystart_plus_plus.h"
#include "mode_a.h"
#include "search.h"

MODE_A(hystart_plus_plus, hystart_plus_plus, hspp_rfc9406, "ff_hystartpp")
MODE_A(hystart_plus_plus_lss, hystart_plus_plus, hspp_draft03, "ff_hystartpp_ls")
MODE_A(hystart, hystart, hystart_hooks, "ff_hystart")
MODE_A(best_published, best_published, best_published_hooks, "ff_best_pub")
MODE_A(search, search, search_hooks, "ff_search")

#define ALL_ARMS { &hystart_plus_plus, &hystart_plus_plus_lss, &hystart, &best_published, &search }
