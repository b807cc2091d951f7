/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* All arms as one object for the kernel. The kernel's functions that we call are open to programs under GPL only. */
#include "arms.h"

/* The head of the kernel's interface for programs on sockets of control groups. */
struct bpf_sock_ops {
	u32 op;
};
enum { SOCK_OPS_ACTIVE_ESTABLISHED = 4, SOCK_OPS_PASSIVE_ESTABLISHED = 5 };
enum { IPPROTO_TCP = 6, TCP_CONGESTION = 13 };

/*
 * When a connection of the group is established, before the default is set up on it. Not earlier: the arm would be set up before the first
 * sequence number is known. Whoever chooses later has the last word.
 */
SEC("sockops") int choose(struct bpf_sock_ops *socket)
{
	char name[sizeof(features.chosen)];
	u32 i;

	if (socket->op == SOCK_OPS_ACTIVE_ESTABLISHED || socket->op == SOCK_OPS_PASSIVE_ESTABLISHED) {
		/* Read as it was declared, volatile: the compiler knows only the empty name. */
		for (i = 0; i < sizeof(name); i++)
			name[i] = features.chosen[i];
		bpf_setsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, name, sizeof(name));
	}
	return 1;
}

char LICENSE[] SEC("license") = "GPL";
