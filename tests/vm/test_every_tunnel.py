"""The shipped plan `every-tunnel`: each stack comes up, is proven, and adds to a packet what its formats say."""

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.documentation import page, rows
from tests.helpers.leaks import FORMS, leaks
from tests.helpers.measuring import execute, values, verdicts
from tunbench.analysis.overhead import workloads
from tunbench.journal import journal
from tunbench.journal.record import Record
from tunbench.plan import load
from tunbench.report.conclusion import finish
from tunbench.run import overhead
from tunbench.runner import registry
from tunbench.runner.declare import spelling
from tunbench.runner.network.underlay import PAIR_UNDERLAYS
from tunbench.runner.stack import build, declared
from tunbench.runner.workloads import multicast

pytestmark = [pytest.mark.vm, pytest.mark.timeout(3000)]

PAYLOADS = (64, 300)

MULTICAST, MARKS = "multicast", "marks"

ASKED = (
    *("none", "none:underlay=ethernet", "wireguard", "ipsec", "ipsec:mode=xfrm", "ipsec:mode=transport+vxlan"),
    *("vxlan", "openvpn", "openvpn:device=tap", "ipvlan", "ipvlan:mode=l3"),
)
"""Spelled as they are asked for multicast and marks: of two kinds that differ in these, each."""

IN_THE_CLEAR = ("none:underlay=ethernet", "macvlan", "ipvlan")
"""How stacks begin which send to a group in the clear on Ethernet: the bridge floods it, to the edge of the lab too."""

MARKED = ("dscp-outside", "ecn-outside", "dscp-inside", "congestion-inside")

TOO_LARGE = "a packet of 53049 B does not fit into one between the nodes, which have 1500 B"
"""The MTU of Yggdrasil is its own; what it carries is cut into segments of TCP."""

DISSECTORS = {
    "fou": "udp.dstport in {5555, 7777}",
    "geneve": "geneve",
    "gre": "gre.proto == 0x0800 or gre.proto == 0x86dd",
    "gretap": "gre.proto == 0x6558",
    "gue": "udp.port == 6080",
    "ipip": "ip.proto == 4 or ip.proto == 41 or ipv6.nxt == 4 or ipv6.nxt == 41",
    "ipsec": "esp",
    "ipvlan": "icmp or icmpv6",
    "l2tpv3": "l2tp or ip.proto == 115 or udp.port == 1701",
    "macsec": "macsec",
    "macvlan": "eth.addr[0:3] == 02:76:6c",
    "nebula": "udp.port == 4242",
    "none": "icmp or icmpv6",
    "openconnect": "tls.record.content_type == 23 or dtls.record.content_type == 23",
    "openvpn": "udp.port == 1194 or tcp.port == 1194",
    "pptp": "gre.proto == 0x880b",
    "tinc": "udp.port == 655",
    "tinc by relay-tcp": "tcp.port == 655",
    "vxlan": "vxlan",
    "wireguard": "wg.type == 4",
    "yggdrasil": "tcp",
}
"""What tshark must see in every packet that carries user data, by the layer that it is captured below, and its path
where that decides."""


TOLD = (
    *("-d", "udp.port==7788,geneve", "-d", "udp.port==8472,vxlan"),
    *("-o", "esp.enable_null_encryption_decode_heuristic:TRUE"),
)
"""What tshark is told: ports that are not the usual ones, and to look into ESP where nothing is encrypted."""

OPAQUE = ("fou", "gue", "l2tpv3", "openvpn", "tinc")
"""Layers into which tshark does not see, also where nothing is encrypted."""


@pytest.fixture(scope="module")
def stacks() -> list[str]:
    return load.load("every-tunnel").plan.axes["stack"]


@pytest.fixture(scope="module", params=["a stack of each", pytest.param("every stack", marks=pytest.mark.long)])
def every(
    request: pytest.FixtureRequest, stacks: list[str], tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, Record]:
    """One run of the plan, or of a stack of each of its tunnels, asked for all in which tunnels differ."""
    folder = tmp_path_factory.mktemp("every") / "run"
    some = [*ASKED, *(stack for stack in stacks if stack not in ASKED)]
    kept = [*ASKED, *_first_of_each(some)] if request.param == "a stack of each" else some
    text = _with(load.load("every-tunnel").text, "stacks", list(dict.fromkeys(kept)))
    text = _with(
        text, "workloads", [*workloads(PAYLOADS), *load.load("every-tunnel").plan.axes["workload"], MULTICAST, MARKS]
    )
    return folder, execute(folder, text)


def _with(text: str, key: str, those: list[str]) -> str:
    """A plan with other values of a list."""
    changed, count = re.subn(
        rf"^{key} = \[\n.*?^\]\n", f"{key} = {json.dumps(those)}\n", text, flags=re.DOTALL | re.MULTILINE
    )
    assert count == 1
    return changed


def _first_of_each(stacks: list[str]) -> list[str]:
    """For each tunnel the first stack that has it."""
    first: dict[str, str] = {}
    for stack in stacks:
        for layer in spelling.stack(stack):
            first.setdefault(layer.name, stack)
    return list(dict.fromkeys(first.values()))


def _ran(record: Record) -> list[str]:
    """The stacks of a run."""
    return list(dict.fromkeys(trial.cell["stack"] for trial in record.trials))


def _of_debian(text: str) -> bool:
    """Whether the image has what a layer needs: nothing of the toolbox, nothing that a user brings."""
    try:
        about = declared(spelling.part(text))
    except ValueError:
        # It goes with other options alone, and with those it stands in the plan.
        return True
    return not (about.needs.tools or about.needs.brought)


def test_the_plan_has_every_tunnel(stacks: list[str]) -> None:
    there = {layer.name for stack in stacks for layer in spelling.stack(stack)}
    assert there == {name for name in registry.tunnel_names() if _of_debian(name)}
    assert 50 <= len(stacks) <= 90


def test_the_plan_has_every_value_of_every_choice(stacks: list[str]) -> None:
    layers = [layer for stack in stacks for layer in spelling.stack(stack)]
    missing = [
        f"{name}:{option}={choice}"
        for name in sorted({layer.name for layer in layers})
        for option, declared in registry.tunnel(name).takes().items()
        for choice in (declared.choices or (("on", "off") if declared.kind == "switch" else ()))
        if option not in ("inner", "outer", "underlay")
        and _of_debian(f"{name}:{option}={choice}")
        and not any(layer.name == name and layer.options.get(option, declared.default) == choice for layer in layers)
    ]
    assert missing == []


def test_every_stack_is_ok(every: tuple[Path, Record]) -> None:
    found = verdicts(every[1])
    assert {cell: told for cell, told in found.items() if told != ("ok", "")} == {
        (stack, "overhead:full=on"): ("unsupported", TOO_LARGE)
        for stack in _ran(every[1])
        if spelling.stack(stack)[-1].name == "yggdrasil"
    }


def test_what_is_computed_of_a_packet_is_what_is_on_the_wire(every: tuple[Path, Record]) -> None:
    stacks = _ran(every[1])
    found = overhead.checks(every[0], stacks, PAYLOADS)
    assert {check.stack: check for check in found if not check.agrees} == {}
    assert len(found) == len(stacks)


def test_every_layer_is_proven(every: tuple[Path, Record]) -> None:
    events = journal.events(every[0])
    stack_of = {event["shard"]: event["spec"]["stack"] for event in events if event.get("state") == "started"}
    proofs = {stack_of[event["shard"]]: event["findings"] for event in events if event["event"] == "proof"}
    assert set(proofs) == set(stack_of.values())
    for stack, findings in proofs.items():
        # Behind those of the layers are those of the relays that carried them.
        at_ends, at_relays = _places(findings)
        assert [finding["layer"] for finding in at_ends] == [layer.name for layer in spelling.stack(stack)]
        assert len(at_relays) == sum(bool(finding.get("through")) for finding in at_ends), stack
        assert all(finding["evident"] >= 10 for finding in findings), stack
        assert all(finding["marked"] == 0 for finding in findings if finding["hidden"]), stack


def test_another_reader_of_the_captures_agrees(every: tuple[Path, Record]) -> None:
    events = journal.events(every[0])
    specs = {event["shard"]: event["spec"] for event in events if event.get("state") == "started"}
    folders = {trial.cell["stack"]: every[0] / trial.folder for trial in every[1].trials if "up" in trial.folder}
    for event in (event for event in events if event["event"] == "proof"):
        stack = specs[event["shard"]]["stack"]
        at_ends, at_relays = _places(event["findings"])
        relayed = [index for index, finding in enumerate(at_ends) if finding.get("through")]
        captured = [(f"proof-{index}", finding) for index, finding in enumerate(at_ends)]
        captured += [(f"proof-{index}-relay", finding) for index, finding in zip(relayed, at_relays, strict=True)]
        for name, finding in captured:
            capture, layer = folders[stack] / f"{name}.pcap", finding["layer"]
            dissector = DISSECTORS.get(f"{layer} by {finding.get('path')}", DISSECTORS[layer])
            seen = read(capture, f"frame.len >= 512 and ({dissector})")
            assert len(seen) == finding["evident"] == finding["packets"], (stack, name)
            legible = [protocols for protocols in seen if {"icmp", "icmpv6"} & set(protocols.split(":"))]
            if finding["hidden"]:
                assert legible == [], (stack, name)
            elif finding["layer"] not in OPAQUE:
                assert legible == seen, (stack, name)


def _places(findings: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """What was found below each layer, and what at the relays, which have two packets for each."""
    at_relays = [one for one in findings if one["where"].startswith(f"{one.get('through')}/")]
    return [one for one in findings if one not in at_relays], at_relays


def read(capture: Path, expression: str) -> list[str]:
    """The protocols of each packet that passes a display filter of tshark."""
    done = subprocess.run(
        ["tshark", *TOLD, "-r", str(capture), "-Y", expression, "-T", "fields", "-e", "frame.protocols"],
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()


def test_nothing_leaves_the_lab_by_itself(every: tuple[Path, Record]) -> None:
    events = journal.events(every[0])
    stack_of = {event["shard"]: event["spec"]["stack"] for event in events if event.get("state") == "started"}
    for event in (event for event in events if event["event"] == "outside"):
        assert stack_of[event["shard"]].startswith(IN_THE_CLEAR)
        assert event["packets"] <= 100, "as many as the workload sends"
        assert all(f"> {multicast.GROUPS[4]}." in one or f"> {multicast.GROUPS[6]}." in one for one in event["first"])


def test_nothing_is_left_behind(every: tuple[Path, Record]) -> None:
    assert [warning for warning in every[1].warnings if warning.name == "left-behind"] == []


def test_who_carries_multicast_is_who_claims_it(every: tuple[Path, Record]) -> None:
    ends = dict(PAIR_UNDERLAYS["ip"].endpoints)
    found = {stack: values(every[1], "loss", stack, workload=MULTICAST) for stack in _ran(every[1])}
    claimed = {stack: [0.0] if multicast.carries(build(stack, ends)) else [1.0] for stack in found}
    assert found == claimed


def test_who_copies_and_who_clears_marks_is_told_in_the_page(every: tuple[Path, Record]) -> None:
    table = rows(page("access.md"), rf"stack \| {MARKED[0]}")
    told = {cells[0].strip("`"): [float(cell) for cell in cells[1:5]] for cells in table}
    assert {"none", "gre", "ipip", "vxlan", "wireguard", "ipsec", "openvpn"} <= set(told)
    assert len(told) == len(table)
    found = {stack: [value for metric in MARKED for value in values(every[1], metric, stack)] for stack in told}
    assert found == told


def test_results_are_plausible(every: tuple[Path, Record]) -> None:
    for stack in _ran(every[1]):
        [throughput] = values(every[1], "throughput", stack)
        assert 1e6 < throughput < 5e6, stack
        assert all(0 < rtt < 0.1 for rtt in values(every[1], "rtt", stack, whole=False)), stack


@pytest.mark.reliability
def test_secrets_stay_in_the_lab(every: tuple[Path, Record], record_property: Callable[[str, object], None]) -> None:
    finish(every[0])
    assert leaks(every[0]) == []
    files = [path.stat().st_size for path in every[0].rglob("*") if path.is_file()]
    record_property(
        "reliability",
        f"{len({trial.cell['stack'] for trial in every[1].trials})} stacks of every-tunnel, {len(files)} files, "
        f"{sum(files) >> 20} MiB: nothing of {len(FORMS)} forms of keys, passwords and tokens",
    )
    text = (every[0] / journal.NAME).read_text()
    assert "private-key /mnt/lab/a/wireguard-0-private.key" in text


def test_the_manifest_has_the_versions_that_the_daemons_tell(every: tuple[Path, Record]) -> None:
    programs = every[1].manifest["programs"]
    assert {"openvpn", "wg", "tincd", "nebula", "kernel"} <= set(programs)
    assert all(any(digit in text for digit in "0123456789") for text in programs.values()), programs


@pytest.mark.long
def test_the_whole_plan_again_has_the_same_fingerprint(tmp_path: Path) -> None:
    text = load.load("every-tunnel").text
    first, second = (execute(tmp_path / name, text).manifest["fingerprint"] for name in ("one", "two"))
    assert first == second
