"""A tiny study with its published numbers, and runs of it whose values are plain numbers."""

from collections.abc import Mapping
from pathlib import Path

from tests.helpers.records import cell, record, trial
from tunbench.analysis.run_analysis import RunAnalysis, analyse
from tunbench.analysis.study.assessment import Assessment, assess
from tunbench.analysis.study.cell_lookup import MeasuredCells, measured
from tunbench.journal.readers.published import numbers_of_tables
from tunbench.journal.record import TrialResult
from tunbench.plan.load import Loaded, read

TCP = "iperf3-tcp:duration=1"
PING = "ping:count=10"

PLAN = f"""\
name = "tiny"
repeats = 6
stacks = ["none", "ipip", "gre", "wireguard"]
workloads = ["{PING}", "{TCP}"]
profiles = ["baseline", "medium"]

[scale.quick]
repeats = 3
profiles = ["baseline"]
"""

STUDY = """
[study]
title = "A Comparison of Tunnels"
authors = "A. Author and B. Author"
year = 2016
source = "https://example.org/tunnels"
reference = "tiny.csv"

[study.systems]
"No VPN" = "none"
"IPIP" = "ipip"
"GRE" = "gre"
"WireGuard" = "wireguard"

[study.missing]
"PPTP" = "it needs a module that the image lacks"

[[study.table]]
table = "throughput"
metric = "throughput"
cell = { metric = "throughput" }
conditions = { "LAN" = { profile = "baseline" }, "WAN" = { profile = "medium" } }

[[study.table]]
table = "delay"
metric = "rtt"
statistic = "mean"
cell = { metric = "rtt" }
conditions = { "LAN" = { profile = "baseline" } }

[[study.clustering]]
name = "on the LAN"
cell = { metric = "rtt", profile = "baseline" }
clusters = { "in the kernel" = ["No VPN", "IPIP", "GRE"], "encrypted" = ["WireGuard", "PPTP"] }

[[study.clustering]]
name = "on the WAN"
cell = { metric = "rtt", profile = "medium" }
clusters = { "fast" = ["No VPN", "IPIP"], "slow" = ["GRE", "WireGuard"] }
"""

CLAIMS = """
[[claim]]
name = "ipip-before-gre"
text = "IPIP carries more than GRE."
source = "Results, first table"
compare = [{ left = { stack = "ipip", profile = "baseline" }, right = { stack = "gre" }, expect = "> 1" }]

[[claim]]
name = "wireguard-like-none"
text = "WireGuard is as fast as no VPN, on any network."
source = "Results, paragraph 2"
compare = [
  { left = { stack = "wireguard", profile = "baseline" }, right = { stack = "none" }, expect = "0.9..1.1" },
  { left = { stack = "wireguard", profile = "medium" }, right = { stack = "none" }, expect = "0.9..1.1" },
]

[[claim]]
name = "slow-network"
text = "On the WAN, everything is slower."
source = "Results, paragraph 3"
compare = [{ left = { stack = "none", profile = "medium" }, right = { profile = "baseline" }, expect = "< 1" }]

[[claim]]
name = "second-core"
text = "A second core helps nobody."
source = "Discussion"
not_testable = "the model machine has one core"
"""

REFERENCE = """\
table,system,condition,metric,statistic,unit,value,source
throughput,No VPN,LAN,throughput,mean,Mbit/s,92.9,Table 1
throughput,IPIP,LAN,throughput,mean,Mbit/s,91.7,Table 1
throughput,GRE,LAN,throughput,mean,Mbit/s,91.2,Table 1
throughput,WireGuard,LAN,throughput,mean,Mbit/s,40.5,Table 1
throughput,PPTP,LAN,throughput,mean,Mbit/s,54.5,Table 1
throughput,No VPN,WAN,throughput,mean,Mbit/s,12.1,Table 1
throughput,IPIP,WAN,throughput,mean,Mbit/s,,"Table 1: illegible, two numbers run together"
throughput,GRE,DSL,throughput,mean,kbit/s,640,Table 1
delay,No VPN,LAN,rtt,mean,ms,0.3,Table 2
delay,IPIP,LAN,rtt,mean,ms,0.4,Table 2
delay,WireGuard,LAN,rtt,mean,ms,0.6,Table 2
delay,WireGuard,LAN,rtt,sd,ms,0.1,Table 2
"""

SPEEDS = {"none": 90e6, "ipip": 80e6, "gre": 70e6, "wireguard": 30e6}
"""Bits a second of each stack at `baseline`; at `medium` a tenth of it."""


def written(folder: Path, text: str = PLAN + STUDY + CLAIMS, reference: str = REFERENCE) -> Path:
    """The study's file, with the reference beside it."""
    (folder / "tiny.csv").write_text(reference)
    (folder / "tiny.toml").write_text(text)
    return folder / "tiny.toml"


def loaded(folder: Path, scale: str = "full", text: str = PLAN + STUDY + CLAIMS, reference: str = REFERENCE) -> Loaded:
    """The study at a scale."""
    return read(text, written(folder, text, reference), {"scale": scale})


def trials(repeats: int, profiles: tuple[str, ...], speeds: Mapping[str, float] = SPEEDS) -> list[TrialResult]:
    """Trials of all stacks: throughputs that a seed moves by some percent, alike for all; round-trip times of each."""
    made = []
    for repeat in range(1, repeats + 1):
        for profile in profiles:
            for place, (stack, speed) in enumerate(speeds.items()):
                value = speed * (0.1 if profile == "medium" else 1) * (1 + repeat / 50)
                made.append(trial(cell(stack, profile, TCP, repeat), [("throughput", "bit/s", value)]))
                delay = (5e-4 if stack == "wireguard" else 1e-5) * (1 + place / 10)
                times = [("rtt", "s", delay * (1 + number / 100), number * 0.1) for number in range(10)]
                made.append(trial(cell(stack, profile, PING, repeat), [*times, ("loss", "ratio", 0.0)]))
    return made


def found(repeats: int = 6, profiles: tuple[str, ...] = ("baseline", "medium")) -> RunAnalysis:
    """What a run of the study found."""
    return analyse(record(trials(repeats, profiles)))


def assessed(analysis: RunAnalysis, loaded: Loaded) -> Assessment:
    """What a run says of the study, beside the published numbers."""
    return assess(analysis, loaded, numbers_of_tables(loaded))


def run(folder: Path, analysis: RunAnalysis, scale: str = "full") -> MeasuredCells:
    """A run of the study, to be looked up."""
    return measured(analysis, loaded(folder, scale).plan)
