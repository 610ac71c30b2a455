"""Terms of netem, the commands that ask for them, and what the kernel then shows."""

import json
import re
from typing import Any

from tests.helpers.fakes import captured
from tunbench.plan.axes.profile import read_profile

# What `tc -s -j qdisc show` printed after `tc qdisc replace … netem` with these words: iproute2 6.1, Linux 6.1. It was
# given a limit besides, and sometimes netem's own rate: neither is a term.
CAPTURED: dict[str, dict[str, Any]] = {
    re.sub(r"^limit \d+ | ?\brate \d+bit( -?\d+)*", "", row["netem"]): row["shown"][0]
    for row in json.loads(captured("tc-netem.json"))
}

HIGH = "delay 6000us 15000us loss random 2.5% reorder 5% 50%"
MANY = (
    "delay 10000us 1000us 25% distribution normal loss gemodel 1% 10% 70% 0.1% ecn duplicate 1% 25% "
    "corrupt 1% 50% reorder 25% 50% gap 5 slot 1000000ns 5000000ns packets 10 bytes 3000"
)
OTHERS = (
    "delay 10000us 1000us distribution pareto loss state 1% 10% 5% 50% 1% "
    "slot distribution normal 10000000ns 2000000ns packets 5"
)
MANY_TERMS = {
    **{"delay": "10ms", "jitter": "1ms", "delay_correlation": "25%", "distribution": "normal"},
    **{"gemodel_p": "1%", "gemodel_r": "10%", "gemodel_1-h": "70%", "gemodel_1-k": "0.1%", "ecn": "on"},
    **{"duplicate": "1%", "duplicate_correlation": "25%", "corrupt": "1%", "corrupt_correlation": "50%"},
    **{"reorder": "25%", "reorder_correlation": "50%", "gap": "5"},
    **{"slot_min_delay": "1ms", "slot_max_delay": "5ms", "slot_packets": "10", "slot_bytes": "3000"},
}
OTHER_TERMS = {
    **{"delay": "10ms", "jitter": "1ms", "distribution": "pareto"},
    **{"state_p13": "1%", "state_p31": "10%", "state_p32": "5%", "state_p23": "50%", "state_p14": "1%"},
    **{"slot_distribution": "normal", "slot_delay": "10ms", "slot_jitter": "2ms", "slot_packets": "5"},
}
EVERYTHING = "delay 20000us 2000us 25% loss random 0.1% 30% duplicate 1% corrupt 0.5%"
ALL_TERMS = {
    "delay": "20ms",
    "jitter": "2ms",
    "delay_correlation": "25%",
    "loss": "0.1%",
    "loss_correlation": "30%",
    "duplicate": "1%",
    "corrupt": "0.5%",
}


def terms(**written: str) -> dict[str, float | str]:
    return dict(read_profile({"name": "any", **written}).forward)
