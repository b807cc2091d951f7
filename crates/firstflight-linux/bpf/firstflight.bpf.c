/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* All arms as one object for the kernel. The kernel's functions that we call are open to programs under GPL only. */
#include "arms.h"

/* The head of the kernel's interface for programs on sockets of control groups. */
struct bpf_sock_ops {
	u32 op;
};
enum { SOCK_OPS_TCP_CONNECT = 3, SOCK_OPS_PASSIVE_ESTABLISHED = 5 };
enum { IPPROTO_TCP = 6, TCP_CONGESTION = 13 };

/* Before a connection of the group sends its first packet, or when one it listened for is there. Whoever chooses later has the last word. */
SEC("sockops") int choose(struct bpf_sock_ops *socket)
{
	char name[sizeof(features.chosen)];
	u32 i;

	if (socket->op == SOCK_OPS_TCP_CONNECT || socket->op == SOCK_OPS_PASSIVE_ESTABLISHED) {
		/* Read as it was declared, volatile: the compiler knows only the empty name. */
		for (i = 0; i < sizeof(name); i++)
			name[i] = features.chosen[i];
		bpf_setsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, name, sizeof(name));
	}
	return 1;
}

char LICENSE[] SEC("license") = "GPL";
