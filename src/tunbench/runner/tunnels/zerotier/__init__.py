"""ZeroTier One: Ethernet frames in UDP between identities, with controller and root on a node of the lab.

The node `control` holds the controller of a private network, and is its only root: a planet of the lab's own takes the
place of the one that is built in, so that no public root is asked for anything. Each endpoint enrols with an identity
that the controller knows beforehand and gives an address; one that it does not know is denied. Packets go through the
root until a direct path is found. Sizes are those of packets up to 1394 bytes: larger ones are cut into fragments of
1432 bytes, and only then does the daemon's own MTU of 2800 bytes fit. Tried with 1.14.1. The second port that is drawn
by lot and looking for a newer version are turned off: nothing of them stays in a lab. UPnP and NAT-PMP are on where a
gateway opens ports.

The relay by TCP is turned off as well, unless a plan demands it. Then ZeroTier's TCP proxy stands on the node `relay`:
a daemon connects to it and hands it each packet with its destination, and the proxy sends it from a UDP port that it
has for that daemon. So both ends look as if they were on the node `relay`, where they reach the root and each other.
Daemons do so with IPv4 addresses of global scope alone, and the lab's begin with 12.0 then.
"""

import json
from collections.abc import Mapping
from ipaddress import ip_interface
from itertools import permutations
from pathlib import Path

from tunbench.runner.declare.options import Option, Options
from tunbench.runner.declare.packet_format import TCP, UDP, Header
from tunbench.runner.declare.path import DIRECT, demanded
from tunbench.runner.declare.topology import CONTROL, RELAY
from tunbench.runner.declare.tunnel import About, Claims, Needs
from tunbench.runner.node.command import ShellWord
from tunbench.runner.node.node import Node
from tunbench.runner.tunnel import Nodes, Tunnel
from tunbench.runner.tunnels.shared import kernel_modules, mesh
from tunbench.runner.tunnels.zerotier import tcp_proxy

# $0 is a record with words that stand for the network and a member, which are $1 and $2; $3 is the file in the
# controller's database.
RECORD = 'mkdir -p "${3%/*}" && sed "s/NETWORK/$1/; s/MEMBER/$2/" "$0" >"$3"'

# $0 is the folder, and $1 what the planet is made of. What the program writes has the number of the world as its name.
PLANET = 'cd "$0" && zerotier-one -i genmoon "$1" && mv ./*.moon planet'

# A packet makes the daemon look for a path. $0 is the pattern of a direct one, $1 the interface, $2 the address inside,
# and the rest the command that lists paths.
FOUND_DIRECT = """\
interface=$1 there=$2
shift 2
ping -n -I "$interface" -c 1 -W 0.5 "$there"
"$@" | grep -q "$0" || { sleep 0.1; false; }
"""

DEFAULT_MTU = 2800
"""Bytes of the interface, whatever is below: ZeroTier One 1.14.1, node/Constants.hpp, ZT_DEFAULT_MTU."""

SMALLEST_MTU, LARGEST_MTU = 1280, 10000
"""Bytes: ZeroTier One 1.14.1, include/ZeroTierOne.h, ZT_MIN_MTU and ZT_MAX_MTU."""

PACKET = "ZeroTier One 1.14.1, node/Packet.hpp"

ENROLMENT_TIMEOUT = 25.0
"""Seconds in which an endpoint must be a member of the network."""

DIRECT_PATH_TIMEOUT = 20.0
"""Seconds in which an endpoint must have a direct path to another one."""


FRAME = (
    Header("nonce, destination, source, flags, MAC, verb", 28, PACKET),
    Header("network, EtherType", 10, f"{PACKET}, VERB_FRAME"),
)


class Zerotier(Tunnel):
    """ZeroTier's daemon on every node; on the node `control` it is controller and root."""

    about = About(
        name="zerotier",
        summary="ZeroTier One in user space: Ethernet frames in UDP, with controller and root in the lab",
        layer=2,
        # A packet that is sent twice is taken twice: what has been seen is not remembered.
        claims=Claims(confidentiality=True, integrity=True),
        # A later fragment, or the cipher: Salsa20/12 with Poly1305, or AES-GMAC-SIV. HELLO alone is not encrypted.
        evidence="udp port {port} and (udp[21] = 0xff or udp[26] & 0x38 = 0x08 or udp[26] & 0x38 = 0x18)",
        headers=(UDP, *FRAME),
        options={"port": Option("count", "9993", "UDP port of every node", low=1, high=65535)},
        # There is one controller and one root.
        exclusive=(),
        ports=("udp {port}", "tcp {port}"),
        # They would have to be known to the controller.
        routes=False,
        relays=True,
        paths=tcp_proxy.PATHS,
        largest_mtu=LARGEST_MTU,
        roles=(CONTROL,),
        control=("udp:{port}",),
        own_mtu=DEFAULT_MTU,
        segments=True,
        version=("zerotier-one", "-v"),
        needs=Needs(modules=(kernel_modules.TUN,), brought=("zerotier-one",)),
        startup_seconds=12,
        user_space=True,
    )

    @classmethod
    def with_options(cls, options: Options) -> About:
        """The proxy is a node more, with a program of its own, and endpoints send to nobody else."""
        if demanded(options) != tcp_proxy.RELAY_TCP:
            return cls.about._replace(paths={DIRECT: tcp_proxy.PATHS[DIRECT]})
        about = cls.about.needing(brought=(*cls.about.needs.brought, tcp_proxy.PROGRAM))
        return about._replace(
            headers=(TCP, tcp_proxy.RECORD, *FRAME),
            roles=(CONTROL, RELAY),
            control=(f"tcp:{tcp_proxy.PORT}",),
            global_scope=True,
        )

    @classmethod
    def takes(cls) -> dict[str, Option]:
        """The MTU is what the controller tells all members."""
        text = "MTU of the overlay in bytes; derived: the daemon's own default"
        return super().takes() | {"mtu": Option("mtu", "derived", text, low=SMALLEST_MTU, high=LARGEST_MTU)}

    def prepare(self, nodes: Nodes) -> None:
        """Makes identities, a planet whose only root is the node `control`, and the records of the controller."""
        for node in nodes.values():
            if node.name != RELAY:
                self._identify(node)
        control = nodes[CONTROL]
        control.run("sed", "s/$/000001/", str(self.file(CONTROL, "address")), into=self._network_file)
        self._make_planet(control)
        self._write_records(control)
        for name in self.context.above:
            self._let_join(nodes[name])

    def _identify(self, node: Node) -> None:
        kept = self._kept(node.name)
        secret, public = str(kept / "identity.secret"), str(kept / "identity.public")
        node.run("mkdir", "-p", str(kept / "networks.d"))
        node.run("zerotier-one", "-i", "generate", secret, public)
        node.run("cut", "-c", "1-10", public, into=self.file(node.name, "address"))
        node.write(kept / "local.conf", self._settings(node))

    def _settings(self, node: Node) -> str:
        """The settings of a daemon: those that are not its own defaults keep it from looking for the world outside."""
        port = self.options["port"]
        settings = {
            "primaryPort": port,
            # A port that is named is not drawn anew where the daemon has long been offline.
            "allowSecondaryPort": False,
            "secondaryPort": port,
            "portMappingEnabled": node.name in self.context.asking,
            "allowTcpFallbackRelay": False,
            "softwareUpdate": "disable",
            **(tcp_proxy.settings(self) if node.name in self.context.above else {}),
        }
        return json.dumps({"settings": settings}, indent=1) + "\n"

    def _make_planet(self, control: Node) -> None:
        moon, planet = self.file(CONTROL, "moon.json"), self.file(CONTROL, "planet.json")
        root = f"{self.context.roles[CONTROL].host}/{self.options['port']}"
        control.run("zerotier-one", "-i", "initmoon", str(self._kept(CONTROL) / "identity.public"), into=moon)
        control.run(
            *("sed", "-e", 's/"worldType": "moon"/"worldType": "planet"/'),
            *("-e", f's|"stableEndpoints": \\[\\]|"stableEndpoints": ["{root}"]|', str(moon)),
            into=planet,
        )
        control.run("sh", "-c", PLANET, str(self._kept(CONTROL)), str(planet))

    def _write_records(self, control: Node) -> None:
        """Writes what its HTTP interface would write into the controller's database."""
        some = next(iter(self.context.above.values()))
        network = {
            "objtype": "network",
            "id": "NETWORK",
            "name": "lab",
            "private": True,
            "mtu": some.mtu,
            "routes": [{"target": str(ip_interface(some.cidr).network)}],
            "rules": [{"type": "ACTION_ACCEPT"}],
        }
        self._record(control, network, CONTROL, "")
        for name, overlay in self.context.above.items():
            member = {
                "objtype": "member",
                "id": "MEMBER",
                "nwid": "NETWORK",
                "authorized": True,
                "ipAssignments": [overlay.address],
            }
            self._record(control, member, name, "/member/")

    def _record(self, control: Node, record: Mapping[str, object], of: str, folder: str) -> None:
        text = self.file(CONTROL, f"{of}.json")
        control.write(text, json.dumps(record, indent=1) + "\n")
        network, member = (control.read_word(path) for path in (self._network_file, self.file(of, "address")))
        stem = f"{self._kept(CONTROL)}/controller.d/network/"
        path, shell = stem + network, stem + network.shell
        if folder:
            path, shell = path + folder + member, shell + folder + member.shell
        control.run("sh", "-c", RECORD, str(text), network, member, ShellWord(f"{path}.json", f"{shell}.json"))

    def _let_join(self, node: Node) -> None:
        """A file named after a network makes the daemon join it; a map of devices gives the interface its name."""
        kept, network = self._kept(node.name), node.read_word(self._network_file)
        stem = f"{kept}/networks.d/"
        node.run("touch", ShellWord(f"{stem}{network}.conf", f"{stem}{network.shell}.conf"))
        name = self.context.above[node.name].interface
        node.run("sed", f"s/$/={name}/", str(self._network_file), into=kept / "devicemap")
        node.run("cp", str(self._kept(CONTROL) / "planet"), str(kept))

    @property
    def _network_file(self) -> Path:
        """Where the number of the network stands: that of the controller, and one of its own."""
        return self.file(CONTROL, "network")

    def _kept(self, node: str) -> Path:
        """The folder of what a daemon begins with."""
        return self.file(node, "kept")

    def up(self, node: Node, nodes: Nodes) -> None:
        """Starts the daemon and waits for it, and on an endpoint until that is a member; or starts the proxy."""
        if node.name == RELAY:
            tcp_proxy.serve(self, node)
            return
        home = self.file(node.name, "home")
        node.run("mkdir", "-p", str(home))
        # What it has learnt in between stays.
        node.run("cp", "-rn", f"{self._kept(node.name)}/.", str(home))
        self.start(node, "zerotier-one", str(home))
        self.wait(node, *self._ask(node, "info"), what=f"zerotier-one on {node.name} did not answer")
        if node.name != CONTROL:
            self._wait_for_membership(node)

    def _ask(self, node: Node, *words: str) -> tuple[str, ...]:
        return ("zerotier-one", "-q", f"-D{self.file(node.name, 'home')}", *words)

    def _wait_for_membership(self, node: Node) -> None:
        overlay = self.context.above[node.name]
        networks = self._ask(node, "listnetworks")
        pattern = f" OK PRIVATE {overlay.interface} {overlay.cidr}$"
        with mesh.quoting("the daemon", lambda: node.ask(*networks).stdout.strip().rpartition("\n")[2]):
            what = f"{node.name} did not enrol"
            mesh.wait_for_line(self, node, pattern, *networks, what=what, timeout=ENROLMENT_TIMEOUT)
        size = f"/sys/class/net/{overlay.interface}/mtu"
        self.wait(node, "grep", "-qx", str(overlay.mtu), size, what=f"{node.name} did not take its MTU")

    def joined(self, nodes: Nodes) -> None:
        """Waits until all paths are direct, or until endpoints say that they go through the proxy."""
        if RELAY in self.context.roles:
            for node in mesh.endpoints(self, nodes):
                tcp_proxy.wait(self, node, self._ask(node, "info"))
            return
        for first, second in permutations(self.context.above, 2):
            node, inside = nodes[first], self.context.above[second].address
            outside = f"{self.context.below[second].address}/{self.options['port']}"
            peer = node.read_word(self.file(second, "address"))
            pattern = ShellWord(f"^{peer} .* DIRECT .* {outside}$", f"'^'{peer.shell}' .* DIRECT .* {outside}$'")
            self.wait(
                *(node, "sh", "-c", FOUND_DIRECT, pattern, self.context.above[first].interface, inside),
                *self._ask(node, "peers"),
                timeout=DIRECT_PATH_TIMEOUT,
                what=f"{first} found no direct path to {second}",
            )

    def forget(self, node: Node) -> None:
        """Takes away what the daemon has learnt: the network, its peers, and what the controller noted of members."""
        node.run("rm", "-rf", str(self.file(node.name, "home")))
