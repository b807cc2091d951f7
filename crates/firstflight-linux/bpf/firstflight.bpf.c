/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* All arms as one object for the kernel. The kernel's functions that we call are open to programs under GPL only. */
#include "arms.h"

char LICENSE[] SEC("license") = "GPL";
