"""Why Nebula's daemon drops packets: its own counters, and what its log says."""

import re
from pathlib import Path

from tunbench.runner.node.node import Node

PATH, INTERVAL = "/metrics", 0.5
"""Where the daemon shows its counters, and seconds after which it brings them up to date there."""

ASK = "exec 3<>/dev/tcp/127.0.0.1/$0 && printf 'GET %s HTTP/1.0\\r\\n\\r\\n' \"$1\" >&3 && cat <&3"
"""For bash: prints what the daemon shows at a port."""

COUNTER = re.compile(r"^(\w+) (\d+(?:\.\d+)?(?:e\+\d\d?)?)$", re.ASCII | re.MULTILINE)
"""A counter in Prometheus' text format, which writes a million as 1e+06."""

UNAUTHENTIC = "nebula-unauthentic"
FAILED_CHECK = "Failed to decrypt"
"""What the log says of each packet that fails the check of its integrity: Nebula, outside.go."""

REFUSED = {
    "messages_tx_recv_error": "nebula-unknown",
    "hostinfo_cached_packets_dropped": "nebula-unsent",
}
"""Those of its counters that tell of dropped packets, and what they are called here.

`network_packets_duplicate` and `network_packets_out_of_window` stay at 0, since it looks at the window before it counts
(Nebula 1.6.1 and 1.10.3, outside.go, handleEncrypted(), and bits.go, Check() and Update()). `network_packets_lost` has
what the network has lost as well.
"""

REFUSALS = {
    "nebula-unknown": "were of no session that Nebula knows, or with release=1.6 came twice or later than its window",
    "nebula-unsent": "waited for a session that Nebula still made, with no more room",
    UNAUTHENTIC: "failed Nebula's check of their integrity",
}


def refused(node: Node, port: int, log: Path) -> dict[str, int]:
    """What the daemon shows of dropped packets, and the lines of its log on those that failed the check."""
    found = parse(node.ask("bash", "-c", ASK, str(port), PATH).stdout)
    failed = node.ask("grep", "-c", FAILED_CHECK, str(log)).stdout.strip()
    return found | ({UNAUTHENTIC: int(failed)} if failed.isdecimal() else {})


def parse(text: str) -> dict[str, int]:
    """Those of the counters that tell of dropped packets, as they are shown."""
    lines = dict(COUNTER.findall(text))
    return {ours: int(float(lines[theirs])) for theirs, ours in REFUSED.items() if theirs in lines}
