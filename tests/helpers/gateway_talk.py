"""Small conversations of one node with another one, as a program that needs nothing: `gateway_talk.py WHAT WORDS…`.

Each prints one line of JSON. What answers from `here` is at an address that is not the first one of its node.
"""

import json
import socket
import struct
import sys
import time
import urllib.request
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


def tell_twice(here: str, port: str, pause: str) -> object:
    """Tells whoever comes by TCP something at once, and once more after a pause."""
    connection, source = socket.create_server((here, int(port))).accept()
    connection.sendall(b"at once")
    time.sleep(float(pause))
    connection.sendall(b"later")
    time.sleep(1)
    return source


def told_twice(address: str, port: str, pause: str) -> object:
    """Whether the second word comes, too."""
    with socket.create_connection((address, int(port)), 2) as sock:
        sock.settimeout(float(pause) + 1)
        assert sock.recv(100) == b"at once"
        with suppress(OSError):
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


def ask_by_nat_pmp(router: str, port: str) -> object:
    """Asks for an open port of UDP as RFC 6886, sections 3.2 and 3.3, has it: the address and the port that are got."""
    sock = datagrams(int(port), 1)
    sock.connect((router, 5351))
    with suppress(OSError):
        sock.send(struct.pack("!BB", 0, 0))
        address = socket.inet_ntoa(sock.recv(100)[8:12])
        sock.send(struct.pack("!BBHHHI", 0, 1, 0, int(port), int(port), 3600))
        _, _, result, _, _, got, _ = struct.unpack("!BBHIHHI", sock.recv(100))
        return [address, got] if result == 0 else result
    return None


def ask_by_pcp(router: str, port: str) -> object:
    """The same as RFC 6887, sections 7.1 and 11.1, has it."""
    sock = datagrams(int(port), 1)
    sock.connect((router, 5351))
    request = struct.pack("!BBHI", 2, 1, 0, 3600) + mapped_address(sock.getsockname()[0])
    ports = struct.pack("!B3xHH", socket.IPPROTO_UDP, int(port), int(port))
    sock.send(request + bytes(12) + ports + mapped_address("0.0.0.0"))
    with suppress(OSError):
        answer = sock.recv(1100)
        return [socket.inet_ntoa(answer[56:60]), *struct.unpack("!H", answer[42:44])] if answer[3] == 0 else answer[3]
    return None


def mapped_address(address: str) -> bytes:
    """An address of IPv4 as one of IPv6."""
    return bytes(10) + b"\xff\xff" + socket.inet_aton(address)


def ask_by_upnp(router: str, port: str) -> object:
    """The same as UPnP's InternetGatewayDevice has it, once the router is found by SSDP."""
    sock = datagrams(0, 2)
    kind = "urn:schemas-upnp-org:service:WANIPConnection:1"
    search = ("M-SEARCH * HTTP/1.1", "HOST: 239.255.255.250:1900", 'MAN: "ssdp:discover"', "MX: 1", f"ST: {kind}")
    sock.sendto("\r\n".join([*search, "", ""]).encode(), ("239.255.255.250", 1900))
    with suppress(OSError):
        assert b"LOCATION: http://" + router.encode() in sock.recv(2000)
        own = "<NewPortMappingDescription>test</NewPortMappingDescription><NewLeaseDuration>60</NewLeaseDuration>"
        here = f"<NewInternalPort>{port}</NewInternalPort><NewInternalClient>{own_address(router)}</NewInternalClient>"
        asked = f"<NewRemoteHost/><NewExternalPort>{port}</NewExternalPort><NewProtocol>UDP</NewProtocol>"
        control(router, kind, "AddPortMapping", f"{asked}{here}<NewEnabled>1</NewEnabled>{own}")
        address = control(router, kind, "GetExternalIPAddress", "").partition("<NewExternalIPAddress>")[2]
        return [address.partition("<")[0], int(port)]
    return None


def own_address(router: str) -> str:
    """The address from which a router is reached."""
    sock = datagrams(0)
    sock.connect((router, 1900))
    return str(sock.getsockname()[0])


def control(router: str, kind: str, action: str, arguments: str) -> str:
    """What comes of an action of a router that speaks UPnP."""
    head = '<s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/"><s:Body>'
    text = f'{head}<u:{action} xmlns:u="{kind}">{arguments}</u:{action}></s:Body></s:Envelope>'
    headers = {"SOAPAction": f'"{kind}#{action}"', "Content-Type": "text/xml"}
    request = urllib.request.Request(f"http://{router}:5000/ctl/IPConn", text.encode(), headers)
    with urllib.request.urlopen(request, timeout=2) as answer:
        return str(answer.read().decode())


if __name__ == "__main__":
    print(json.dumps(globals()[sys.argv[1]](*sys.argv[2:])), flush=True)
