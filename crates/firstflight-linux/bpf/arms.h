/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* All arms, in the order of their numbers. */
#include "best.h"
#include "best_published.h"
#include "hystart.h"
#include "hystart_plus_plus.h"
#include "mode_a.h"
#include "mode_b.h"
#include "rapid_start.h"
#include "search.h"
#include "slow_start.h"

MODE_A(hystart_plus_plus, hystart_plus_plus, hspp_rfc9406, "ff_hystartpp")
MODE_A(hystart_plus_plus_lss, hystart_plus_plus, hspp_draft03, "ff_hystartpp_ls")
MODE_A(hystart, hystart, hystart_hooks, "ff_hystart")
MODE_A(best_published, best_published, best_published_hooks, "ff_best_pub")
MODE_A(search, search, search_hooks, "ff_search")
MODE_A(no_hystart, common, no_hystart_hooks, "ff_no_hystart")
MODE_B(rapid, rapid, rapid_arm, "ff_rapid")
MODE_B(rapid_nojump, rapid, rapid_nojump_arm, "ff_rapid_nojump")
MODE_B(slow_start_prr, sender, prr_arm, "ff_prr")
MODE_B(slow_start_rfc6675, sender, rfc6675_arm, "ff_rfc6675")
MODE_B(slow_start_rate_halving, sender, rate_halving_arm, "ff_rate_halving")
MODE_A(best, best, best_hooks, "ff_best")
MODE_B(slow_start_crb, sender, crb_arm, "ff_prr_crb")
MODE_B(slow_start_ssrb, sender, ssrb_arm, "ff_prr_ssrb")
MODE_B(slow_start_ub, sender, ub_arm, "ff_prr_ub")

#define ALL_ARMS                                                                                              \
	{                                                                                                     \
		&hystart_plus_plus, &hystart_plus_plus_lss, &hystart, &best_published, &search, &rapid,       \
			&rapid_nojump, &slow_start_prr, &slow_start_rfc6675, &slow_start_rate_halving,        \
			&no_hystart, &best, &slow_start_crb, &slow_start_ssrb, &slow_start_ub          \
	}
