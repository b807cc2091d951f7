/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Binds all arms of arms.def to the kernel's callbacks. */
#include "best.h"
#include "best_published.h"
#include "careful.h"
#include "hystart.h"
#include "hystart_plus_plus.h"
#include "mode_a.h"
#include "mode_b.h"
#include "plumb.h"
#include "rapid_start.h"
#include "search.h"
#include "slow_start.h"

#define ARM(number, map, mode, state, hooks, kernel_name, name, outcomes, about) mode(map, state, hooks, kernel_name)
#include "arms.def"
#undef ARM
