import base64
import subprocess
import zlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.fakes import shard
from tunbench.journal.events import JournalEvent, read_event
from tunbench.journal.folders import folder_of
from tunbench.run.trial_folders import TrialFolders

SPEC = shard("wireguard", 3).spec()


def trial(**fields: Any) -> dict[str, Any]:
    return {"event": "trial", "workload": "ping:count=5", "verdict": "ok", "reason": "", "samples": [], **fields}


def command(shell: str) -> dict[str, Any]:
    return {"event": "command", "node": "a", "shell": shell}


def phase(name: str) -> dict[str, Any]:
    return {"event": "phase", "name": name, "at": 1.0}


def typed(line: dict[str, Any]) -> JournalEvent | None:
    return read_event({"shard": "x", **line})


def taken(folder: Path, *events: dict[str, Any]) -> Path:
    folders = TrialFolders(folder, SPEC)
    for event in events:
        folders.take(typed(event))
    return folder / "trials" / "wireguard" / "baseline" / "ping-count=5" / "repeat-3"


def test_a_trial_has_its_folder() -> None:
    assert folder_of(SPEC, "ping:count=5") == Path("trials/wireguard/baseline/ping-count=5/repeat-3")
    special = SPEC | {"topology": "ring", "machine": {"name": "slow", "speed": 250}}
    assert folder_of(special, "up") == Path("trials/wireguard/baseline/topology=ring/machine=slow/up/repeat-3")
    older = SPEC | {"tuning": "default", "machine": "slow"}
    assert folder_of(older, "up") == Path("trials/wireguard/baseline/machine=slow/up/repeat-3")


def test_swept_values_stand_in_the_folder() -> None:
    swept = SPEC | {"profile": {"name": "wan:delay=20ms,loss=0.5%"}, "tuning": {"name": "x:sysctl.net.ipv4.y=4 5"}}
    assert folder_of(swept, "iperf3-udp:rate=10M") == Path(
        "trials/wireguard/wan-delay=20ms,loss=0.5-/tuning=x-sysctl.net.ipv4.y=4-5/iperf3-udp-rate=10M/repeat-3"
    )


@given(st.text(), st.text(), st.text())
def test_no_name_leads_out_of_the_run(stack: str, profile: str, workload: str) -> None:
    folder = folder_of(SPEC | {"stack": stack, "profile": {"name": profile}}, workload)
    assert len(folder.parts) == 5
    assert not {"..", ".", "/", ""} & set(folder.parts)
    assert Path("/run", folder).resolve() == Path("/run", folder)
    assert str(folder).isascii()


@pytest.mark.parametrize(
    "name", ["../../etc/passwd", "/etc/passwd", "..", "", "a/b.log", ".hidden", "nul\0", "new\nline"]
)
def test_hostile_names_of_outputs_stay_in_the_folder(name: str, tmp_path: Path) -> None:
    run = tmp_path / "run"
    folder = taken(run, trial(outputs={name: "text"}))
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {path.parent for path in files} == {folder}
    assert len(files) == 2
    assert not any(path.name.startswith(".") for path in files)


def test_raw_output_logs_and_the_reason_are_kept(tmp_path: Path) -> None:
    event = trial(reason="it broke", outputs={"ping.txt": "raw\n"}, logs={"b/iperf3.log": "log\n"})
    folder = taken(tmp_path, event)
    assert {path.name: path.read_text() for path in folder.iterdir() if path.name != "commands.sh"} == {
        "reason.txt": "it broke\n",
        "ping.txt": "raw\n",
        "b-iperf3.log": "log\n",
    }


def test_a_trial_without_a_reason_has_none(tmp_path: Path) -> None:
    assert [path.name for path in taken(tmp_path, trial()).iterdir()] == ["commands.sh"]


EVENTS = [
    *(phase("nodes"), command("ip netns add a")),
    *(phase("underlay"), command("ip link add x")),
    *(phase("watch"), command("tcpdump edge &")),
    *(phase("prepare"), {"event": "file", "node": "a", "path": "/mnt/lab/a/conf", "text": "port 1\nname 'x'\n\n"}),
    *(phase("up"), command("wg set")),
    *(phase("proof"), command("ping -p marker")),
    *(phase("impair"), command("tc qdisc replace")),
]


def test_the_commands_are_those_that_repeat_the_trial(tmp_path: Path) -> None:
    other = {**trial(), "workload": "up"}
    folder = taken(
        tmp_path, *EVENTS, phase("trial"), command("ping other"), other, phase("trial"), command("ping"), trial()
    )
    lines = (folder / "commands.sh").read_text().splitlines()
    assert lines[0] == "#!/bin/sh"
    assert lines[1] == "# Repeats one trial by hand: wireguard, baseline, ping:count=5, repeat 3"
    assert "  for node in a b router edge; do" in lines
    assert lines[lines.index("trap cleanup EXIT") + 1 :] == [
        *("ip netns add a", "ip link add x"),
        *("cat >/mnt/lab/a/conf <<'END'", "port 1", "name 'x'", "END", "chmod 600 /mnt/lab/a/conf"),
        *("wg set", "tc qdisc replace", "ping"),
    ]


def test_the_commands_are_a_shell_script(tmp_path: Path) -> None:
    folder = taken(tmp_path, *EVENTS, phase("trial"), command("ping"), trial())
    assert subprocess.run(["sh", "-n", folder / "commands.sh"], capture_output=True).stderr == b""


def test_a_bridge_has_other_nodes(tmp_path: Path) -> None:
    folders = TrialFolders(tmp_path, shard("macvlan").spec())
    folders.take(typed(trial()))
    [script] = tmp_path.rglob("commands.sh")
    assert "for node in a b bridge edge; do" in script.read_text()


def test_a_long_name_has_a_folder_too(tmp_path: Path) -> None:
    folders = TrialFolders(tmp_path, SPEC | {"profile": {"name": "x" * 300}})
    folders.take(typed(trial()))
    assert len(list(tmp_path.rglob("commands.sh"))) == 1


def captured_as(name: str, content: bytes) -> dict[str, Any]:
    return {"event": "capture", "name": name, "pcap": base64.b64encode(zlib.compress(content)).decode()}


def test_captures_stand_with_the_trial_that_follows_them_and_with_no_other(tmp_path: Path) -> None:
    up = {**trial(), "workload": "up"}
    taken(tmp_path, captured_as("proof-0.pcap", b"\xd4\0"), captured_as("proof-1.pcap", b""), up, trial())
    found = {path.relative_to(tmp_path / "trials/wireguard/baseline"): path for path in tmp_path.rglob("*.pcap")}
    assert {str(name): path.read_bytes() for name, path in found.items()} == {
        "up/repeat-3/proof-0.pcap": b"\xd4\0",
        "up/repeat-3/proof-1.pcap": b"",
    }


def test_the_folder_of_the_result_that_counts_is_kept(tmp_path: Path) -> None:
    folder = taken(tmp_path, trial(outputs={"ping.txt": "first\n"}))
    folders = TrialFolders(tmp_path, SPEC)
    folders.take(typed(trial(outputs={"ping.txt": "second\n"})), again=True)
    assert (folder / "ping.txt").read_text() == "first\n"
    # What a kill left half written is written again.
    (folder / "commands.sh").write_text("")
    folders.take(typed(trial(outputs={"ping.txt": "third\n"})), again=True)
    assert (folder / "ping.txt").read_text() == "third\n"
    assert (folder / "commands.sh").read_text()


def test_captures_without_a_trial_leave_nothing(tmp_path: Path) -> None:
    taken(tmp_path / "run", captured_as("proof-0.pcap", b"some"))
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("name", ["../../proof.pcap", "/etc/passwd", "..", "", "nul\0"])
def test_hostile_names_of_captures_stay_in_the_folder(name: str, tmp_path: Path) -> None:
    folder = taken(tmp_path / "run", captured_as(name, b"some"), trial())
    files = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert {path.parent for path in files} == {folder}
    assert [content for path, content in files.items() if path.name != "commands.sh"] == [b"some"]


def test_the_commands_name_the_image_of_their_own_workload(tmp_path: Path) -> None:
    spec = shard("none", 1, "ping:count=5", "quic").spec()
    folders = TrialFolders(tmp_path, spec)
    for workload in ("ping:count=5", "quic", "up", "no such workload"):
        folders.take(typed(trial(workload=workload)))
    written = {path.parent.parent.name: path.read_text() for path in tmp_path.rglob("commands.sh")}
    assert {name for name, text in written.items() if "lab shell --with ngtcp2 --script" in text} == {"quic"}
    assert len(written) == 4
