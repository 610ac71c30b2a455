"""Small conversations of one node with another one, as a program that needs nothing: `gateway_talk.py WHAT WORDS…`.

Each prints one line of JSON. What answers from `here` is at an address that is not the first one of its node.
"""

import json
import socket
import sys
import time
from contextlib import suppress

IP_MTU_DISCOVER, DONT, DO = 10, 0, 2
IPV6_MTU_DISCOVER = 23
IP_TOS, IP_RECVTOS = socket.IP_TOS, 13
ANY = {4: "0.0.0.0", 6: "::"}


def datagrams(port: int, seconds: float = 2.0, discover: int | None = None, here: str = ANY[4]) -> socket.socket:
    sock = socket.socket(socket.AF_INET6 if ":" in here else socket.AF_INET, socket.SOCK_DGRAM)
    sock.bind((here, port))
    sock.settimeout(seconds)
    if discover is not None and ":" in here:
        sock.setsockopt(socket.IPPROTO_IPV6, IPV6_MTU_DISCOVER, discover)
    elif discover is not None:
        sock.setsockopt(socket.IPPROTO_IP, IP_MTU_DISCOVER, discover)
    return sock


def any_for(address: str) -> str:
    """What to bind where one sends to an address."""
    return ANY[6 if ":" in address else 4]


def punch(port: str, peer: str, *moments: str) -> object:
    """Sends to the same port of a peer at some moments, in seconds, and says who was heard within two."""
    sock, began, heard = datagrams(int(port), 0.05), time.monotonic(), []
    left = [float(one) for one in moments]
    while time.monotonic() < began + 2:
        if left and time.monotonic() > began + left[0]:
            left.pop(0)
            sock.sendto(b"x", (peer, int(port)))
        with suppress(TimeoutError):
            source = list(sock.recvfrom(100)[1])
            heard += [] if source in heard else [source]
    return heard


def answer_twice(here: str, port: str, pause: str) -> object:
    """Answers at once, and once more after a pause."""
    sock = datagrams(int(port), 10, here=here)
    _, source = sock.recvfrom(100)
    sock.sendto(b"at once", source)
    time.sleep(float(pause))
    sock.sendto(b"later", source)
    return source


def hear_twice(address: str, port: str, pause: str) -> object:
    """Whether the second answer comes, too."""
    sock = datagrams(6000, float(pause) + 1)
    sock.sendto(b"x", (address, int(port)))
    assert sock.recv(100) == b"at once"
    with suppress(TimeoutError):
        return sock.recv(100) == b"later"
    return False


def take(kind: str, here: str, port: str) -> object:
    """Answers what comes to a port, until it is killed."""
    if kind == "udp":
        sock = datagrams(int(port), 60, here=here)
        while True:
            sock.sendto(b"yes", sock.recvfrom(100)[1])
    server = socket.create_server((here, int(port)))
    while True:
        server.accept()[0].sendall(b"yes")


def reach(kind: str, address: str, port: str) -> object:
    """Whether an answer comes from a port."""
    with suppress(OSError):
        if kind == "udp":
            sock = datagrams(0, 0.6)
            sock.sendto(b"x", (address, int(port)))
        else:
            sock = socket.create_connection((address, int(port)), timeout=0.6)
        return sock.recv(100) == b"yes"
    return False


def tell_ports(here: str, port: str) -> object:
    """Tells whoever comes by TCP from which port that is, until it is killed."""
    server = socket.create_server((here, int(port)))
    while True:
        connection, source = server.accept()
        connection.sendall(str(source[1]).encode())


def seen_from(address: str, port: str, own: str) -> object:
    """The port that another one sees behind a connection from one's own."""
    with socket.create_connection((address, int(port)), 2, ("", int(own))) as sock:
        return int(sock.recv(100))


def send_large(address: str, port: str, size: str) -> object:
    """Sends datagrams that nobody may cut: whether the kernel has come to know that they are too large."""
    sock = datagrams(0, 1, DO, any_for(address))
    for _ in range(3):
        try:
            sock.sendto(bytes(int(size)), (address, int(port)))
        except OSError:
            return "refused"
        time.sleep(0.2)
    return "sent"


def large_back(here: str, port: str, size: str) -> object:
    """Sends such datagrams back to whoever comes first."""
    sock = datagrams(int(port), 10, DO, here)
    _, source = sock.recvfrom(100)
    for _ in range(3):
        try:
            sock.sendto(bytes(int(size)), source)
        except OSError:
            return "refused"
        time.sleep(0.2)
    return "sent"


def call(address: str, port: str, size: str = "1") -> object:
    """Sends one datagram, which may be cut, and waits for one: how long that is."""
    sock = datagrams(0, 1, DONT, any_for(address))
    sock.sendto(bytes(int(size)), (address, int(port)))
    with suppress(TimeoutError):
        return len(sock.recv(65535))
    return 0


def hear(port: str, here: str = ANY[4]) -> object:
    """How long the first datagram is that comes, and how it is marked where it came over IPv4."""
    sock = datagrams(int(port), 3, here=here)
    if here != ANY[6]:
        sock.setsockopt(socket.IPPROTO_IP, IP_RECVTOS, 1)
    try:
        data, told, _, _ = sock.recvmsg(65535, 100)
    except TimeoutError:
        return [0, 0]
    return [len(data), told[0][2][0] if told else 0]


def send(address: str, port: str, size: str, tos: str = "0") -> object:
    """Sends one datagram, which may be cut."""
    sock = datagrams(0, 1, DONT, any_for(address))
    if int(tos):
        sock.setsockopt(socket.IPPROTO_IP, IP_TOS, int(tos))
    sock.sendto(bytes(int(size)), (address, int(port)))
    return "sent"


if __name__ == "__main__":
    print(json.dumps(globals()[sys.argv[1]](*sys.argv[2:])), flush=True)
