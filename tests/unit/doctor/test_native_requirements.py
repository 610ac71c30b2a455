"""What this machine lacks for the native lab, and which lab `auto` chooses by it."""

import os
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.host import install_program
from tests.helpers.runs import PLAN
from tunbench.doctor import choose_lab, native_requirements
from tunbench.plan.axes.stack import parse
from tunbench.plan.axes.tuning import Tuning
from tunbench.plan.expand import expand
from tunbench.plan.load import PlanError, check
from tunbench.run.order import read_order
from tunbench.runner import invocation
from tunbench.runner.declare.access import Access, Accesses
from tunbench.runner.declare.link import Direction, Link
from tunbench.runner.network.underlay import WIRE

REFUSED = "Error: Unknown device type."


@pytest.fixture(autouse=True)
def path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """A machine with the programs of the lab, as root, on a kernel that has everything."""
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name in (*native_requirements.LAB_PROGRAMS, "tc", "ethtool", "wg", "ping"):
        install_program(tmp_path, name)
    native_requirements.tried.cache_clear()
    yield tmp_path
    native_requirements.tried.cache_clear()


def kernel_without(path: Path, *words: str) -> None:
    """The kernel refuses every command that has one of these words in it."""
    cases = "|".join(f"*{word}*" for word in words)
    install_program(path, "unshare", f'case "$*" in {cases}) echo "{REFUSED}" >&2; exit 2;; esac')


def lacking(text: str, **files: str | None) -> list[str]:
    return [one.what for one in native_requirements.of_plan(expand(check(text, "any.toml")), files)]


def test_nothing_is_lacking_where_all_is_there() -> None:
    assert lacking(PLAN) == []


def test_every_axis_of_a_plan_is_looked_at_once(path: Path) -> None:
    kernel_without(path, "netem", "tbf", "wireguard", "=bbr")
    (path / "ethtool").unlink()
    text = PLAN.replace('["ping:count=5"]', '["ping:count=5", "rr", "iperf3-tcp:congestion=bbr"]').replace(
        'stacks = ["none", "wireguard"]', 'stacks = ["none", "wireguard", "wireguard+vxlan", "hyprspace"]'
    )
    text += 'profiles = ["baseline", "low", "medium"]\nlink = ["wire", "1G", "10G"]\n'
    assert lacking(text) == [
        f"the kernel's wireguard ({REFUSED})",
        "the program hyprspace",
        f"the kernel's netem ({REFUSED})",
        "the program ethtool",
        f"the kernel's tbf ({REFUSED})",
        "the program sockperf",
        "the program iperf3",
        "the kernel's congestion control bbr",
    ]
    install_program(path, "mine")
    assert not any("hyprspace" in what for what in lacking(text, hyprspace=str(path / "mine")))


def test_a_file_that_cannot_be_used_is_lacking_whatever_is_on_path(path: Path) -> None:
    install_program(path, "wg")
    assert lacking(PLAN, wg="/nonexistent") == ["the program wg (/nonexistent cannot be used)"]


@pytest.mark.parametrize(
    ("link", "word", "mend"),
    [
        (Link("line", up=Direction(rate=1e6)), "tbf", "a kernel with the module sch_tbf"),
        (Link("line", down=Direction(rate=1e6)), "tbf", "a kernel with the module sch_tbf"),
        (Link("far", up=Direction(delay=0.001)), "netem", "a kernel with the module sch_netem"),
        (Link("far", up=Direction(delay=0.001)), "ifb", "a kernel with the module ifb"),
        (WIRE, "tbf", ""),
        # So short a delay is left out where there is no netem, with a warning.
        (WIRE, "netem", ""),
        (WIRE, "ifb", ""),
    ],
)
def test_a_link_needs_of_the_kernel_what_it_has(link: Link, word: str, mend: str, path: Path) -> None:
    kernel_without(path, word)
    assert [one.mend for one in native_requirements.of_link(link)] == ([mend] if mend else [])


def test_a_link_that_cuts_nothing_needs_no_ethtool(path: Path) -> None:
    (path / "ethtool").unlink()
    found = [native_requirements.of_link(Link("any", segmentation=how)) for how in ("before", "after")]
    assert [[one.what for one in lacks] for lacks in found] == [["the program ethtool"], []]


def test_a_gateway_that_opens_ports_needs_the_program_for_it(path: Path) -> None:
    install_program(path, "nft")
    opening, silent = (Accesses("x", Access("x", nat="symmetric", portmap=one)) for one in ("upnp", "none"))
    assert native_requirements.of_accesses(silent) == []
    assert native_requirements.of_accesses(opening) == [
        native_requirements.Lack("the program miniupnpd", "apt-get install miniupnpd-nftables")
    ]


def test_what_translates_between_families_needs_the_program_for_it(path: Path) -> None:
    install_program(path, "nft")
    needed = native_requirements.of_accesses(Accesses("x", Access("x", nat="symmetric", family="nat64")))
    assert native_requirements.Lack("the program tayga", "apt-get install tayga") in needed


def test_a_slower_machine_is_lacking() -> None:
    text = PLAN + 'machine = "slow"\n[lab]\nkind = "auto"\n'
    assert lacking(text) == ["the model machine slow"]


def test_without_root_nothing_else_is_asked(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    install_program(path, "unshare", "touch $0.ran")
    assert native_requirements.of_plan(expand(check(PLAN, "any.toml")), {}) == [native_requirements.ROOT]
    assert not (path / "unshare.ran").exists()


@pytest.mark.parametrize(
    ("stack", "word", "there"),
    [
        ("gre", "ip6gre", True),
        ("gre:outer=ipv6", "ip6gre", False),
        ("gre:outer=ipv6", "type gre", True),
        ("gre", "type gre", False),
        ("ipip", "type sit", True),
        ("ipip:inner=ipv6", "type sit", False),
        ("ipip:inner=ipv6", "type ipip", True),
        ("vxlan:inner=ipv6+gre", "ip6gre", False),
        ("l2tpv3", "encap", True),
        ("l2tpv3:encap=ip", "encap", False),
        ("fou", "fou", False),
    ],
)
def test_a_module_is_lacking_where_a_layer_needs_it_and_nowhere_else(
    stack: str, word: str, there: bool, path: Path
) -> None:
    install_program(path, "modprobe")
    kernel_without(path, f"'{word}'")
    assert (native_requirements.of_stack(parse(stack)) == []) is there


def test_a_sysctl_of_the_whole_kernel_is_lacking(path: Path) -> None:
    kernel_without(path, "rmem_max")
    tuning = Tuning("t", sysctl={"net.core.rmem_max": "1000000", "net.ipv4.tcp_sack": "0"})
    assert [one.what for one in native_requirements.of_tuning(tuning)] == [
        "the sysctl net.core.rmem_max of a network namespace's own"
    ]


def test_a_probe_that_says_nothing_or_hangs_is_a_refusal(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install_program(path, "unshare", "exit 3")
    assert native_requirements.tried("true") == "status 3"
    install_program(path, "unshare", f"exec {sys.executable} -c 'import time; time.sleep(60)'")
    monkeypatch.setattr(native_requirements, "PROBE_TIMEOUT", 0.2)
    began = time.monotonic()
    assert native_requirements.tried("true; true") == "no answer within 0.2 s"
    assert time.monotonic() - began < 10


AUTO = PLAN + '[lab]\nkind = "auto"\n'


def test_auto_is_native_where_nothing_is_lacking() -> None:
    order = read_order(AUTO, "any.toml", {})
    assert (order.lab.kind, order.lab.clock, order.plan.lab.clock) == ("native", "real", "real")
    assert order.overrides == {"lab": "native", "clock": "real"}
    assert order.why_this_lab == "lab native: this machine has all that the plan needs"


@pytest.mark.parametrize(("clock", "expected"), [("", "virtual"), ('clock = "real"\n', "real")])
def test_auto_is_vm_where_something_is_lacking_with_the_clock_of_the_plan(
    clock: str, expected: str, path: Path
) -> None:
    kernel_without(path, "wireguard")
    order = read_order(AUTO + clock, "any.toml", {})
    assert (order.lab.kind, order.lab.clock) == ("vm", expected)
    assert order.overrides == {"lab": "vm", "clock": expected}
    assert order.why_this_lab == f"lab vm: natively this machine lacks the kernel's wireguard ({REFUSED})"
    again = read_order(AUTO + clock, "any.toml", order.overrides)
    assert (again.lab.kind, again.lab.clock, again.why_this_lab) == ("vm", expected, ""), "as a run that goes on"


def test_of_many_things_the_first_are_named(path: Path) -> None:
    for name in ("wg", "ping"):
        (path / name).unlink()
    kernel_without(path, "netem", "wireguard")
    plan = check(AUTO.replace("repeats = 2", 'repeats = 2\nprofiles = ["low"]'), "any.toml")
    choice = choose_lab.auto(plan.lab, expand(plan), {})
    assert choice
    assert choice.why.endswith("netem (Error: Unknown device type.) and 1 more things")


def test_the_command_line_asks_for_auto_and_keeps_the_clock_of_the_plan(path: Path) -> None:
    kernel_without(path, "wireguard")
    text = PLAN + '[lab]\nkind = "vm"\nclock = "real"\n'
    assert read_order(text, "any.toml", {"lab": "auto"}).lab.clock == "real"
    with pytest.raises(PlanError, match="model machine belongs to the"):
        read_order('machine = "slow"\n' + text, "any.toml", {"lab": "auto"})


def test_other_plans_choose_nothing() -> None:
    plan = check(PLAN, "any.toml")
    assert choose_lab.auto(plan.lab, expand(plan), {}) is None


def test_the_congestion_control_of_quic_is_none_of_the_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    lack = native_requirements.Lack
    monkeypatch.setattr(native_requirements, "_congestion", lambda name: [lack(name, "")] if name else [])
    monkeypatch.setattr(shutil, "which", lambda name: None if name.startswith("gtls") else name)
    assert native_requirements.of_workload(invocation.read("quic:congestion=bbr")) == [
        native_requirements.Lack("the program gtlsclient", "apt-get install ngtcp2-client"),
        native_requirements.Lack("the program gtlsserver", "apt-get install ngtcp2-server"),
    ]
    assert native_requirements.of_workload(invocation.read("iperf3-tcp:congestion=bbr")) == [
        native_requirements.Lack("bbr", "")
    ]
