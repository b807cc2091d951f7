/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* All arms as one object for the kernel. The kernel functions that we call are available only to GPL programs. */
#include "arms.h"

/* The start of the kernel's context for programs on sockets of control groups. */
struct bpf_sock_ops {
	u32 op;
};
enum { SOCK_OPS_ACTIVE_ESTABLISHED = 4, SOCK_OPS_PASSIVE_ESTABLISHED = 5 };
enum { IPPROTO_TCP = 6, TCP_CONGESTION = 13 };

/*
 * Runs when a connection of the group is established, before the default controller is set up. Any earlier, the arm would be set up before
 * the first sequence number is known. A later choice takes precedence.
 */
SEC("sockops") int choose(struct bpf_sock_ops *socket)
{
	char name[sizeof(features.chosen)];
	u32 i;

	if (socket->op == SOCK_OPS_ACTIVE_ESTABLISHED || socket->op == SOCK_OPS_PASSIVE_ESTABLISHED) {
		/* A volatile read, as declared: the compiler sees only the empty name. */
		for (i = 0; i < sizeof(name); i++)
			name[i] = features.chosen[i];
		bpf_setsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, name, sizeof(name));
	}
	return 1;
}

char LICENSE[] SEC("license") = "GPL";
