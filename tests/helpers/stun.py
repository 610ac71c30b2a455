"""STUN (RFC 5389) with the tests of RFC 5780, client and server: what a NAT does, as whoever is behind it sees it.

stun.py serve ADDRESS1 ADDRESS2     answers on two addresses and two ports, and from others where it is asked to
stun.py ask ADDRESS1                prints mapping, filtering and hairpinning as JSON
"""

import json
import os
import select
import socket
import struct
import sys
from typing import NamedTuple

Address = tuple[str, int]

MAGIC = 0x2112A442
REQUEST, RESPONSE = 0x0001, 0x0101
CHANGE, MAPPED, OTHER = 0x0003, 0x0020, 0x802C
CHANGE_ADDRESS, CHANGE_PORT = 4, 2
PORTS = (3478, 3479)
TRIES, WAIT_SECONDS = 2, 0.4


class Answer(NamedTuple):
    """What a server says: how it saw the client, and where it can be asked besides."""

    mapped: Address
    other: Address


def ask(sock: socket.socket, to: Address, change: int = 0) -> Answer | None:
    """Sends a request that may be answered from elsewhere; None where no answer comes."""
    transaction = os.urandom(12)
    body = struct.pack("!HHI", CHANGE, 4, change) if change else b""
    for _ in range(TRIES):
        sock.sendto(struct.pack("!HHI", REQUEST, len(body), MAGIC) + transaction + body, to)
        try:
            while True:
                data = sock.recv(2048)
                if data[:2] == struct.pack("!H", RESPONSE) and data[8:20] == transaction:
                    found = attributes(data)
                    return Answer(address(found[MAPPED], MAGIC), address(found[OTHER]))
        except TimeoutError:
            continue
    return None


def attributes(message: bytes) -> dict[int, bytes]:
    found, at = {}, 20
    while at + 4 <= len(message):
        kind, size = struct.unpack("!HH", message[at : at + 4])
        found[kind] = message[at + 4 : at + 4 + size]
        at += 4 + (size + 3 & ~3)
    return found


def address(value: bytes, mask: int = 0) -> Address:
    port, number = struct.unpack("!HI", value[2:8])
    return socket.inet_ntoa(struct.pack("!I", number ^ mask)), port ^ (mask >> 16)


def packed(where: Address, mask: int = 0) -> bytes:
    number = struct.unpack("!I", socket.inet_aton(where[0]))[0]
    return struct.pack("!BBHI", 0, 1, where[1] ^ (mask >> 16), number ^ mask)


def fresh(where: Address = ("0.0.0.0", 0)) -> socket.socket:
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.settimeout(WAIT_SECONDS)
    sock.bind(where)
    return sock


def mapping(server: Address) -> str:
    """RFC 5780, section 4.3."""
    sock = fresh()
    answers = [ask(sock, server)]
    assert answers[0], "no server answers"
    other = answers[0].other
    answers += [ask(sock, (other[0], server[1])), ask(sock, other)]
    first, second, third = (one.mapped if one else None for one in answers)
    return named(first == second == third, second == third)


def filtering(server: Address) -> str:
    """RFC 5780, section 4.4, from a socket that has sent to one address and port alone."""
    sock = fresh()
    ask(sock, server)
    return named(bool(ask(sock, server, CHANGE_ADDRESS | CHANGE_PORT)), bool(ask(sock, server, CHANGE_PORT)))


def named(independent: bool, by_address: bool) -> str:
    return (
        "endpoint-independent" if independent else "address-dependent" if by_address else "address-and-port-dependent"
    )


def hairpins(server: Address) -> bool:
    """RFC 5780, section 4.5: whether one socket reaches the mapping of another one behind the same NAT."""
    here, there = fresh(), fresh()
    answers = (ask(here, server), ask(there, server))
    assert all(answers), "no server answers"
    mine, theirs = (one.mapped for one in answers if one)
    here.sendto(b"hairpin", theirs)
    try:
        data, source = there.recvfrom(2048)
    except TimeoutError:
        return False
    # From the outer address, as RFC 4787 asks for in REQ-9.
    return data == b"hairpin" and source == mine


def serve(addresses: list[str]) -> None:
    socks = {(one, port): fresh((one, port)) for one in addresses for port in PORTS}
    print("ready", flush=True)
    while True:
        for sock in select.select(list(socks.values()), [], [])[0]:
            data, source = sock.recvfrom(2048)
            if len(data) < 20 or data[:2] != struct.pack("!H", REQUEST):
                continue
            here, port = sock.getsockname()
            there, other_port = addresses[1 - addresses.index(here)], PORTS[1 - PORTS.index(port)]
            change = int.from_bytes(attributes(data).get(CHANGE, b""), "big")
            values = {MAPPED: packed(source, MAGIC), OTHER: packed((there, other_port))}
            body = b"".join(struct.pack("!HH", kind, len(value)) + value for kind, value in values.items())
            sender = (there if change & CHANGE_ADDRESS else here, other_port if change & CHANGE_PORT else port)
            socks[sender].sendto(struct.pack("!HH", RESPONSE, len(body)) + data[4:20] + body, source)


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve(sys.argv[2:])
    server = (sys.argv[2], PORTS[0])
    print(json.dumps({"mapping": mapping(server), "filtering": filtering(server), "hairpin": hairpins(server)}))
