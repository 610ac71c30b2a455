"""What is found of machines of many kinds, and where it is told."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.helpers.runs import PLAN, ScriptedLab, finished, invoke, ordered, runs_here
from tunbench.executors import pool
from tunbench.journal import journal
from tunbench.journal.readers.registry import record_of
from tunbench.labs.real_time import host_state, noise
from tunbench.labs.real_time.host_state import HostState, examine
from tunbench.labs.real_time.noise import Reading
from tunbench.plan.expand import expand
from tunbench.plan.load import check
from tunbench.run import execution
from tunbench.runner.declare.warnings import WarningKind
from tunbench.runner.node import pinning

GOOD = {
    "proc/stat": "cpu  100 0 100 800 0 0 0 0 0 0\n",
    "proc/cpuinfo": "flags\t\t: fpu vme sse2\n",
    "proc/meminfo": "MemTotal: 100 kB\nSwapTotal:    2048 kB\nSwapFree:     2048 kB\n",
    "proc/sys/net/ipv4/tcp_congestion_control": "cubic\n",
    "sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc\n",
    "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "performance\n",
    "sys/devices/system/cpu/cpu1/cpufreq/scaling_governor": "performance\n",
    "sys/devices/system/cpu/intel_pstate/no_turbo": "1\n",
}
"""A machine that has nothing to be said against it."""

XEN = {"sys/hypervisor/type": "xen\n"}
KVM = {
    "proc/cpuinfo": "flags\t\t: fpu hypervisor sse2\n",
    "sys/class/dmi/id/sys_vendor": "QEMU\n",
    "sys/class/dmi/id/product_name": "Standard PC\n",
}

Examined = Callable[..., HostState]


@pytest.fixture
def examined(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Examined:
    """Examines a machine whose files are GOOD but for some, and of whose processors others had a part."""

    def of(
        files: dict[str, str], others: float = 0.0, kind: str = "native", cores: int = 4, plan: str = PLAN
    ) -> HostState:
        for name, text in (GOOD | files).items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text)
        readings = [Reading(0, 0, 0, 0), Reading(1, others, 0, 0)]
        monkeypatch.setattr(noise, "PROC", tmp_path / "proc")
        monkeypatch.setattr(noise, "SYS", tmp_path / "sys")
        monkeypatch.setattr(pinning, "CORES", tmp_path / "nothing")
        monkeypatch.setattr(noise, "read", lambda apart: readings.pop(0))
        monkeypatch.setattr(host_state, "OBSERVED_SECONDS", 0)
        monkeypatch.setattr("os.cpu_count", lambda: 1)
        return examine(expand(check(plan, "any.toml")), range(cores), nodes_share_kernel=kind == "native")

    return of


def test_nothing_is_said_of_a_machine_that_is_as_it_should_be(examined: Examined) -> None:
    found = examined({})
    assert found.warnings == []
    assert {name: fact for name, fact in found.facts.items() if name != "offloads of veth"} == {
        "load of others": "0.0 %",
        "processes": host_state.ALL_SEEN,
        "to another core and back": host_state.UNKNOWN,
        "governor": "performance",
        "turbo": "off",
        "clocksource": "tsc",
        "virtualised": "no",
        "stolen since boot": "0.0 %",
        "swap used": "0 MiB",
        "congestion control": "cubic",
        "pinning": "each node has a core of its own",
    }


@pytest.mark.parametrize(
    ("files", "warning"),
    [
        (
            {"sys/devices/system/cpu/cpu1/cpufreq/scaling_governor": "powersave\n"},
            ("frequency-scaling", "the governor is performance, powersave"),
        ),
        ({"sys/devices/system/cpu/intel_pstate/no_turbo": "0\n"}, ("turbo", "it is on")),
        (
            {"sys/devices/system/cpu/intel_pstate/no_turbo": "", "sys/devices/system/cpu/cpufreq/boost": "1\n"},
            ("turbo", "it is on"),
        ),
        ({"proc/stat": "cpu  100 0 100 790 0 0 0 10 0 0\n"}, ("stolen-time", "1.0 % of the time since it booted")),
        (XEN, ("virtualised", "xen")),
        (KVM, ("virtualised", "QEMU Standard PC")),
        (
            {"proc/cpuinfo": KVM["proc/cpuinfo"]},
            ("virtualised", "by a hypervisor that does not say its name"),
        ),
        (
            {"sys/devices/system/clocksource/clocksource0/current_clocksource": "hpet\n"},
            ("clocksource", "it is hpet"),
        ),
        ({"proc/sys/net/ipv4/tcp_congestion_control": "bbr\n"}, ("congestion-control", "it is bbr")),
        ({"proc/meminfo": "SwapTotal: 9216 kB\nSwapFree: 2048 kB\n"}, ("swapping", "7 MiB are swapped out")),
    ],
)
def test_each_thing_that_disturbs_is_found(files: dict[str, str], warning: tuple[str, str], examined: Examined) -> None:
    found = examined(files)
    assert found.warnings == [warning]
    assert found.lines == [
        f"{warning[0]}: {warning[1]}. {next(kind.mend for kind in WarningKind if kind == warning[0])}"
    ]


@pytest.mark.parametrize(("space", "found"), [("pid:[4026531836]", False), ("pid:[4026532281]", True)])
def test_in_a_container_load_may_be_hidden(space: str, found: bool, examined: Examined, tmp_path: Path) -> None:
    (tmp_path / "proc/self/ns").mkdir(parents=True)
    (tmp_path / "proc/self/ns/pid").symlink_to(space)
    warning = ("hidden-load", "its PID namespace is not the first one")
    assert examined({}).warnings == ([warning] if found else [])


def test_what_a_machine_does_not_show_is_not_held_against_it(examined: Examined) -> None:
    found = examined(dict.fromkeys(GOOD, ""))
    assert found.warnings == []
    assert {found.facts[name] for name in ("governor", "turbo", "clocksource", "swap used")} == {host_state.UNKNOWN}


@pytest.mark.parametrize(
    ("others", "warnings"), [(0.02, []), (0.3, [("other-load", "other processes took 30.0 % of a second")])]
)
def test_load_of_others_is_found(others: float, warnings: list[tuple[str, str]], examined: Examined) -> None:
    assert examined({}, others).warnings == warnings


@pytest.mark.parametrize(
    ("cores", "plan", "text"),
    [
        (3, PLAN, "3 cores for 3 nodes and one for everything else"),
        (4, PLAN, ""),
        (4, PLAN + 'topology = ["pair", "ring"]\n', "4 cores for 4 nodes and one for everything else"),
        (5, PLAN + 'topology = ["pair", "ring"]\n', ""),
        (5, PLAN + 'topology = "site-to-site"\n', "5 cores for 5 nodes and one for everything else"),
        (4, PLAN.replace("wireguard", "nebula:lighthouse=on"), "4 cores for 4 nodes and one for everything else"),
        (5, PLAN + 'access = ["none", "cgnat"]\n', "5 cores for 7 nodes and one for everything else"),
    ],
)
def test_cores_are_counted_against_the_nodes_of_the_largest_shard(
    cores: int, plan: str, text: str, examined: Examined
) -> None:
    assert examined({}, cores=cores, plan=plan).warnings == ([("not-pinned", text)] if text else [])


def test_a_plan_that_names_its_congestion_control_does_not_depend_on_the_machines(examined: Examined) -> None:
    files = {"proc/sys/net/ipv4/tcp_congestion_control": "bbr\n"}
    plan = PLAN + 'tuning = { name = "t", congestion = "cubic" }\n'
    assert examined(files, plan=plan).warnings == []
    assert examined(files, plan=plan.replace("= {", '= ["default", {').replace("}", "}]")).warnings


def test_a_vm_has_a_kernel_and_cores_of_its_own(examined: Examined) -> None:
    found = examined({"proc/sys/net/ipv4/tcp_congestion_control": "bbr\n"}, kind="vm", cores=1)
    assert found.warnings == []
    assert "pinning" not in found.facts


def test_a_link_of_the_lab_has_its_offloads(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("unshare", "ethtool"):
        (tmp_path / name).write_text(
            "#!/bin/sh\necho 'Features for probe:'\necho 'generic-receive-offload: on'\n"
            "echo 'tcp-segmentation-offload: on'\necho 'rx-checksumming: off [fixed]'\n"
        )
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/nothing")
    assert host_state._offloads() == host_state.UNKNOWN
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert host_state._offloads() == "tcp-segmentation-offload, generic-receive-offload"


FOUND = HostState({"governor": "powersave"}, [(WarningKind.FREQUENCY_SCALING, "the governor is powersave")])


def test_the_journal_has_it_and_the_run_warns_of_it_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "POLL", 0.001)
    finished(tmp_path)
    assert "condition" not in record_of(tmp_path).manifest
    for governor in ("ondemand", "powersave"):
        execution.go(tmp_path, ordered(), 1, lambda _: None, FOUND._replace(facts={"governor": governor}))
    assert [event["facts"] for event in journal.events(tmp_path) if event["event"] == "condition"] == [
        {"governor": "ondemand"},
        {"governor": "powersave"},
    ]
    record = record_of(tmp_path)
    assert record.manifest["condition"] == {"governor": "powersave"}
    assert [(one.name, one.where, one.text) for one in record.warnings] == [
        ("frequency-scaling", "this machine", "the governor is powersave")
    ]


@pytest.mark.parametrize("clock", ["virtual", "real"])
def test_it_is_told_before_a_run_on_the_real_clock_begins(
    clock: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs_here(monkeypatch, tmp_path)
    monkeypatch.setattr(ScriptedLab, "clock", clock)
    monkeypatch.setattr(ScriptedLab, "examine", lambda *_: FOUND if clock == "real" else None)
    result = invoke("run", "plan.toml", "--out", "out", "--clock", clock)
    line = f"frequency-scaling: the governor is powersave. {WarningKind.FREQUENCY_SCALING.mend}"
    assert (line in result.stderr.splitlines()) is (clock == "real")
    assert ("frequency-scaling" in result.stdout) is (clock == "real")
    assert result.exit_code == 0
    if clock == "real":
        assert result.stderr.index(line) < result.stderr.index("[1/4]")
