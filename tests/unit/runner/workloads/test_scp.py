import random
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.fakes import Answer, FakeEvents, FakeShell, captured, move_home, two_nodes
from tests.helpers.outputs import edited, of, sound
from tunbench.runner.declare import spelling
from tunbench.runner.declare.failures import WorkloadFailed
from tunbench.runner.declare.options import resolve
from tunbench.runner.declare.overlay import Overlay
from tunbench.runner.network.underlay import PAIR_UNDERLAYS
from tunbench.runner.node.command import CommandFailed
from tunbench.runner.node.shell import Result
from tunbench.runner.workload import Sample, Trial
from tunbench.runner.workloads import scp

LISTENING = "LISTEN 0 128 10.0.2.2:2222 0.0.0.0:*\n"
SUMS = captured("scp-sha256sum.txt")
SENT, ARRIVED = SUMS.splitlines(keepends=True)
IPV6 = {name: Overlay("wg", f"fd10:0::{number}", 64, 1420) for number, name in enumerate("ab", start=1)}


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    return move_home(monkeypatch, tmp_path)


def trial(
    given: dict[str, str], answers: dict[str, Answer] | None = None, ipv6: bool = False
) -> tuple[Trial, FakeShell, FakeEvents]:
    usual: dict[str, Answer] = {
        "ss -Hltn": LISTENING,
        "command -v sshd": "/usr/sbin/sshd\n",
        "sent.bin server:": "",
        "sed ": "server ssh-ed25519 AAAA host\n",
        "rm -rf": "",
    }
    sums: dict[str, Answer] = {"/sent.bin": SENT, "/arrived.bin": ARRIVED}
    shell, events = FakeShell((answers or {}) | usual | sums), FakeEvents()
    client, server = two_nodes(shell, events)
    overlays = IPV6 if ipv6 else PAIR_UNDERLAYS["ip"].endpoints
    return Trial(resolve(scp.ABOUT.options, given, "scp"), client, server, overlays), shell, events


def test_throughput_is_of_the_copy_alone() -> None:
    assert scp.parse(SUMS, 1_000_000, 1.5, 0.5) == [
        Sample("throughput", 16e6),
        Sample("login", 1.5),
        Sample("copy", 0.5),
        Sample("duration", 2.0),
    ]


def test_another_file_has_failed() -> None:
    other = ARRIVED.replace(ARRIVED[:4], "0000")
    with pytest.raises(WorkloadFailed, match="the file that arrived is not the one that was sent"):
        scp.parse(SENT + other, 1000, 1, 1)


def test_torn_sums_have_failed() -> None:
    # The path is not read: a slash and one character are enough of it.
    for end in range(len(SENT) + ARRIVED.index("/") + 2):
        with pytest.raises(WorkloadFailed, match="did not print two sums"):
            scp.parse(SUMS[:end], 1000, 1, 1)


@given(seed=st.integers(0, 2**32))
def test_sums_that_were_edited_are_those_of_one_file_or_have_failed(seed: int) -> None:
    changed = edited(SUMS, random.Random(seed))
    sound(of("scp", lambda text: scp.parse(text, 1000, 1, 1), []), changed)
    digests = re.findall(r"^[0-9a-f]{64}(?=  /)", changed, re.MULTILINE)
    if len(set(digests)) != 1:
        with pytest.raises(WorkloadFailed):
            scp.parse(changed, 1000, 1, 1)


def test_the_commands() -> None:
    done, shell, events = trial({"size": "5MB"})
    scp.execute(done)
    here, there = done.client.home / "scp-2222", done.server.home / "scp-2222"
    a, b = "ip netns exec a", "ip netns exec b"
    configured = f"-F {here}/ssh_config"
    commands = [command for command in events.commands if not command.startswith("until ")]
    log = commands.pop(7)
    assert log.startswith(f"{b} /usr/sbin/sshd -D -e -f {there}/sshd_config >>")
    assert commands == [
        f"{a} mkdir -p {here}",
        f"{a} ssh-keygen -q -t ed25519 -N '' -C user -f {here}/user",
        f"{b} mkdir -p {there}",
        f"{b} ssh-keygen -q -t ed25519 -N '' -C host -f {there}/host",
        f"{a} sed 's/^/server /' {there}/host.pub >{here}/known_hosts",
        f"{a} openssl rand -out {here}/sent.bin 5000000",
        f"{b} mkdir -p /run/sshd",
        f"{a} ssh {configured} server true",
        f"{a} scp -q {configured} {here}/sent.bin server:{there}/arrived.bin",
        f"{a} ssh -q {configured} -O exit server",
        f"{a} sha256sum {here}/sent.bin",
        f"{b} sha256sum {there}/arrived.bin",
        f"{a} rm -rf {here}",
        f"{b} rm -rf {there}",
    ]
    assert [process.ended for process in shell.started] == ["stopped"]
    assert done.outputs == {"sha256sum.txt": SUMS}
    assert {one.metric for one in done.samples} == set(scp.ABOUT.metrics)


def test_the_configurations_have_the_addresses_and_no_secret() -> None:
    done, _, events = trial({}, ipv6=True)
    scp.execute(done)
    server, client = (one["text"] for one in events.of("file"))
    assert "ListenAddress [fd10:0::2]\n" in server
    assert f"AuthorizedKeysFile {done.client.home}/scp-2222/user.pub\n" in server
    assert "    HostName fd10:0::2\n" in client
    assert "    StrictHostKeyChecking yes\n" in client
    assert "Ciphers" not in client


@pytest.mark.parametrize("cipher", scp.CIPHERS)
def test_a_cipher_is_asked_for_by_the_name_that_openssh_gives_it(cipher: str) -> None:
    part = spelling.part(f"scp:cipher={cipher},size=1kB")
    done, _, events = trial(part.options)
    scp.execute(done)
    assert f"    Ciphers {cipher}\n" in events.of("file")[1]["text"]


@pytest.mark.parametrize(
    ("command", "result", "message"),
    [
        ("server true", Result(255, "", captured("ssh-refused.txt")), "ssh ended with status 255: .*refused"),
        ("server true", Result(255, "", captured("ssh-denied.txt")), "ssh ended with status 255: .*Permission denied"),
        ("server true", Result(255, "", captured("ssh-unknown-host.txt")), "Host key verification failed"),
        ("server true", Result(None, "", ""), "ssh did not end within 30 s"),
        ("scp -q", Result(1, "", captured("scp-lost.txt")), "scp ended with status 1: lost connection"),
        ("scp -q", Result(1, "", captured("scp-no-folder.txt")), "failed to upload file"),
        ("scp -q", Result(None, "", ""), "scp did not end within 120 s"),
    ],
)
def test_a_failure_leaves_nothing_behind(command: str, result: Result, message: str) -> None:
    done, shell, _ = trial({}, {command: result})
    with pytest.raises(WorkloadFailed, match=message):
        scp.execute(done)
    assert any(text.endswith("-O exit server") for text in shell.texts)
    assert [process.ended for process in shell.started] == ["stopped"]
    assert [text.split()[:2] for text in shell.texts[-2:]] == [["rm", "-rf"], ["rm", "-rf"]]
    program = command.split()[0] if command.startswith("scp") else "ssh"
    assert done.outputs == ({f"{program}.stderr": result.stderr} if result.stderr else {})
    assert not done.samples


def test_without_keys_no_server_is_started() -> None:
    done, shell, _ = trial({}, {"ssh-keygen": Result(1, "", "no space left")})
    with pytest.raises(CommandFailed, match="no space left"):
        scp.execute(done)
    assert not shell.started
    assert [text.split()[:2] for text in shell.texts[-2:]] == [["rm", "-rf"], ["rm", "-rf"]]
