"""Point-to-Point Tunneling Protocol (RFC 2637): PPP in GRE, with pptpd and pptp-linux.

The two programs carry GRE in user space. The kernel could (module pptp), but the plugin of pppd that would use it,
pptp.so, belongs to accel-ppp, which Debian does not have.
"""

from tunbench.runner.declare.failures import Unsupported
from tunbench.runner.declare.kernel_module import Module
from tunbench.runner.declare.options import Option, Options
from tunbench.runner.declare.packet_format import Format, Header
from tunbench.runner.declare.tunnel import About, Claims, Needs, Sources
from tunbench.runner.node.node import Node
from tunbench.runner.tunnel import Nodes, Tunnel
from tunbench.runner.tunnels.shared import kernel_modules, secrets

# Each line that is not the default of pppd or of its Debian package has its reason.
COMMON = """\
ifname {interface}
# The largest packet that still fits into the MTU below. With MPPE, pppd takes 4 bytes off.
mtu {mtu}
mru {mtu}
# What the examples of pptpd and pptp-linux say: MS-CHAP version 2 alone, no compression but MPPE.
refuse-pap
refuse-chap
refuse-mschap
refuse-eap
nobsdcomp
nodeflate
novj
novjccomp
# There is no serial port to lock.
nolock
# Who is not answered so often hangs up; without these lines it is as Debian's /etc/ppp/options says.
lcp-echo-interval {interval}
lcp-echo-failure {failures}
{mppe}"""

ENCRYPTED = """\
# The longest keys there are, and no state that a lost packet would spoil.
require-mppe-128
nomppe-stateful
"""

SERVER = """\
name {name}
auth
require-mschap-v2
{here}:{there}
# Standard output is the tunnel.
nologfd
logfile {log}
"""

CLIENT = """\
user {name}
remotename {server}
noauth
# The lab has its routes: none is made to the server.
pty "pptp {address} --nolaunchpppd --nohostroute"
nodetach
# The server may not be there yet: it is called again after a second.
persist
maxfail 0
holdoff 1
"""

DAEMON = """\
listen {address}
option {options}
# Addresses are those that stand in pppd's options.
delegate
noipparam
"""

# Read only: a shell that may write would leave a file where there is no device.
PPP_ASYNC = Module("ppp_async", f"{kernel_modules.LOAD} ppp_generic; : </dev/ppp")

HANG_UP_TIMEOUT = 3.0
"""Seconds in which a call must be over."""

GRE = Header("enhanced GRE with sequence and acknowledgment number", 16, "RFC 2637, section 4.1")
"""The acknowledgment number, of 4 bytes, is not in every packet: only where there is something to acknowledge."""

PPP = Header("PPP, protocol field compressed", 1, "RFC 1661, sections 2, 6.5 and 6.6")

EVIDENCE = (
    "ip proto 47 and ip[22:2] = 0x880b and "
    "((ip[21] & 0x80 = 0 and ip[32] = {protocol}) or (ip[21] & 0x80 != 0 and ip[36] = {protocol}))"
)
"""GRE of PPP (RFC 2637, section 4.1), and the PPP protocol, without and with an acknowledgment number before it.

`and` and `or` have the same precedence in a pcap filter.
"""


class Pptp(Tunnel):
    """The first endpoint is the server, the second its client."""

    about = About(
        name="pptp",
        summary="PPTP (RFC 2637) with MS-CHAPv2, by pptpd and pptp-linux; user space carries GRE",
        layer=3,
        claims=Claims(confidentiality=True),
        # An MPPE datagram: RFC 3078, section 3.
        evidence=EVIDENCE.format(protocol="0xfd"),
        headers=(GRE, PPP, Header("MPPE", 2, "RFC 3078, section 3"), Header("protocol", 2, "RFC 1661, section 2")),
        options={
            "mppe": Option("switch", "on", "MPPE encryption with keys of 128 bits, stateless"),
            "echo-interval": Option(
                "count", "30", "seconds behind which an end asks the other for a sign (LCP), 0: never", high=3600
            ),
            "echo-failure": Option("count", "4", "questions without an answer behind which it hangs up", high=1000),
        },
        joins=2,
        multicast=True,
        exclusive=(),
        ports=("tcp 1723",),
        packages=("pptpd", "pptp-linux", "ppp"),
        version=("pptpd", "--version"),
        needs=Needs(modules=(PPP_ASYNC, Module("ppp_mppe")), programs=("openssl", "pgrep", "pppd", "pptp", "pptpd")),
        sources=Sources(packages={"pgrep": "procps", "pppd": "ppp", "pptp": "pptp-linux"}),
        startup_seconds=4,
        user_space=True,
    )

    @classmethod
    def with_options(cls, options: Options) -> About:
        """Without MPPE there is neither its header nor confidentiality."""
        if options["mppe"]:
            return cls.about
        # IPv4 in PPP: RFC 1332, section 2.
        evidence = EVIDENCE.format(protocol="0x21")
        return cls.about._replace(claims=Claims(), evidence=evidence, headers=(GRE, PPP))

    @classmethod
    def format(cls, options: Options, outer: int) -> Format:
        """Packets that acknowledge nothing are shorter by that number."""
        return super().format(options, outer)._replace(spare=4)

    def prepare(self, nodes: Nodes) -> None:
        """Makes the secret that both know, and the files of options."""
        server, client = nodes.values()
        secret = self.file(server.name, "secret")
        secrets.make(server, secret, 16)
        here, there = (self.context.above[node.name] for node in nodes.values())
        for node in nodes.values():
            line = f"{client.name} {server.name} {secrets.PLACEHOLDER} {there.address}\n"
            secrets.fill(node, self.file(node.name, "chap-secrets"), line, secret)
            text = (COMMON + (SERVER if node is server else CLIENT)).format(
                interface=here.interface,
                mtu=here.mtu + (4 if self.options["mppe"] else 0),
                interval=self.options["echo-interval"],
                failures=self.options["echo-failure"],
                mppe=ENCRYPTED if self.options["mppe"] else "nomppe\n",
                name=node.name,
                here=here.address,
                there=there.address,
                log=self.file(server.name, "pppd.log"),
                server=server.name,
                address=self.context.below[server.name].address,
            )
            node.write(self.file(node.name, "options"), text)
        address, options = self.context.below[server.name].local, self.file(server.name, "options")
        server.write(self.file(server.name, "conf"), DAEMON.format(address=address, options=options))
        server.keep(self.file(server.name, "pppd.log"))

    def up(self, node: Node, nodes: Nodes) -> None:
        """Starts the daemon, which makes the interface once both sides agree."""
        if node.try_run("modprobe", "ppp_generic").status != 0:
            raise Unsupported("this kernel has no PPP (module ppp_generic)")
        # PPP needs a pseudo-terminal on each side.
        node.run("sh", "-c", "mountpoint -q /dev/pts || { mkdir -p /dev/pts && mount -t devpts devpts /dev/pts; }")
        node.run("cp", str(self.file(node.name, "chap-secrets")), "/etc/ppp/chap-secrets")
        if node.name == self.context.first:
            self.start(node, "pptpd", "--fg", "--conf", str(self.file(node.name, "conf")))
        else:
            self.start(node, "pppd", "file", str(self.file(node.name, "options")))

    def down(self, node: Node) -> None:
        """Stops the daemon. The programs that carry the call have left its process group: they are given time."""
        super().down(node)
        if not node.until("sh", "-c", "! pgrep --runstates D,R,S pptp", timeout=HANG_UP_TIMEOUT):
            node.try_run("pkill", "-KILL", "pptp")
