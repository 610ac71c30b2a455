"""Makes the kernel forget all flows that it tracks, by netlink; a program of its own, so that it can run on a node.

What a NAT has mapped is then forgotten as well. The message is that of libnetfilter_conntrack's IPCTNL_MSG_CT_DELETE
without a flow, which is about all of them (Linux 6.1, net/netfilter/nf_conntrack_netlink.c).
"""

import os
import socket
import struct

NETLINK_NETFILTER = 12
"""The family of messages: linux/netlink.h."""

CTNETLINK, DELETE = 1, 2
"""The subsystem and its message: linux/netfilter/nfnetlink.h and nfnetlink_conntrack.h."""

REQUEST, ACKNOWLEDGE = 1, 4
"""Flags of a message that is answered: linux/netlink.h."""

HEADER, GENERIC, ERROR = struct.Struct("=IHHII"), struct.Struct("!BBH"), struct.Struct("=i")
"""A message's own header, that of netfilter's messages, and the error in the answer."""


def main() -> None:
    """Sends the message. Raises OSError where the kernel refuses it."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_NETFILTER) as kernel:
        kernel.bind((0, 0))
        kind = CTNETLINK << 8 | DELETE
        kernel.send(HEADER.pack(HEADER.size + GENERIC.size, kind, REQUEST | ACKNOWLEDGE, 1, 0) + GENERIC.pack(0, 0, 0))
        [error] = ERROR.unpack_from(kernel.recv(4096), HEADER.size)
    if error:
        raise OSError(-error, os.strerror(-error))


if __name__ == "__main__":
    main()
