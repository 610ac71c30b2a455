import time
from pathlib import Path

import pytest

from tests.helpers.fakes import Call, FakeEvents, FakeShell, move_home, two_nodes
from tunbench.runner.node import node as node_module
from tunbench.runner.node import processes
from tunbench.runner.node.command import TAIL_LENGTH, CommandFailed, ShellWord, typed
from tunbench.runner.node.node import COMMAND_TIMEOUT, Node
from tunbench.runner.node.shell import Result

FAILED = Result(2, "out\n", "RTNETLINK answers: File exists\n")


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    return move_home(monkeypatch, tmp_path)


def node(shell: FakeShell, name: str = "a") -> tuple[Node, FakeEvents]:
    events = FakeEvents()
    return Node(name, shell, events, [] if name == "lab" else ["nsenter", "--target", "7", "--net", "--"]), events


def test_a_command_enters_the_node_and_is_journaled_as_a_person_would_type_it() -> None:
    shell = FakeShell({"echo": "hello\n"})
    a, events = node(shell)
    assert a.run("echo", "two words", "it's", timeout=3) == "hello\n"
    assert shell.calls == [Call(["echo", "two words", "it's"], "", 3)]
    [event] = events.told
    assert event["shell"] == "ip netns exec a echo 'two words' 'it'\"'\"'s'"
    assert (event["event"], event["node"], event["status"]) == ("command", "a", 0)
    assert event["took"] >= 0


def test_the_root_of_the_lab_is_no_network_namespace() -> None:
    lab, events = node(FakeShell(), "lab")
    lab.run("ip", "link")
    assert events.commands == ["ip link"]


def test_what_differs_each_time_is_journaled_as_the_text_that_yields_it(home: Path) -> None:
    (home / "key file").write_text("KEY=\n")
    a, events = node(shell := FakeShell())
    a.run("wg", "set", "peer", a.read_word(home / "key file"))
    assert shell.calls[0].argv[-1] == "KEY="
    assert events.commands == [f"ip netns exec a wg set peer \"$(cat '{home}/key file')\""]
    assert typed([ShellWord("secret", "$S"), "a b"]) == "$S 'a b'"


def test_input_and_output_go_through_files_that_only_root_reads(home: Path) -> None:
    (home / "in").write_text("question")
    a, events = node(shell := FakeShell({"wg": "answer\n"}))
    a.run("wg", "pubkey", stdin=home / "in", into=home / "new" / "out")
    assert shell.calls[0].stdin == "question"
    assert (home / "new" / "out").read_text() == "answer\n"
    assert (home / "new" / "out").stat().st_mode & 0o777 == 0o600
    assert events.commands == [f"ip netns exec a wg pubkey <{home}/in >{home}/new/out"]
    assert "answer" not in str(events.told)


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (FAILED, "ip netns exec a ip x: ended with status 2: RTNETLINK answers: File exists"),
        (Result(1, "only out\n", " \n"), "ip netns exec a ip x: ended with status 1: only out"),
        (Result(1, "", ""), "ip netns exec a ip x: ended with status 1"),
        (Result(None, "", ""), "ip netns exec a ip x: did not end in time"),
    ],
)
def test_a_command_that_fails_says_its_last_words(result: Result, message: str) -> None:
    a, events = node(FakeShell({"ip x": result}))
    with pytest.raises(CommandFailed) as caught:
        a.run("ip", "x")
    assert str(caught.value) == message
    assert caught.value.result == result
    assert events.told[0]["status"] == result.status
    assert a.try_run("ip", "x") == result


def test_last_words_are_cut_to_their_end() -> None:
    message = str(CommandFailed("cmd", Result(1, "", "x" * TAIL_LENGTH + "end")))
    assert len(message) == len("cmd: ended with status 1: ") + TAIL_LENGTH
    assert message.endswith("xend")


def test_lines_of_ip_are_one_batch() -> None:
    a, events = node(shell := FakeShell())
    a.ip("link set lo up", "link set eth0 up")
    assert shell.calls == [Call(["ip", "-batch", "-"], "link set lo up\nlink set eth0 up\n", COMMAND_TIMEOUT)]
    assert events.commands == ["ip netns exec a ip -batch - <<'END'\nlink set lo up\nlink set eth0 up\nEND"]


def test_a_batch_that_fails_is_journaled_and_raised() -> None:
    a, events = node(FakeShell({"-batch": FAILED}))
    with pytest.raises(CommandFailed, match="File exists"):
        a.ip("link set lo up")
    assert events.told[0]["status"] == 2


def test_asking_is_not_journaled() -> None:
    a, events = node(FakeShell({"ss": "answer"}))
    assert a.ask("ss").stdout == "answer"
    assert events.told == []


def test_until_asks_again_until_it_succeeds() -> None:
    results = iter([Result(1, "", ""), Result(1, "", ""), Result(0, "", "")])
    a, events = node(shell := FakeShell({"ping": lambda _: next(results)}))
    assert a.until("ping", "-c", "1")
    assert len(shell.calls) == 3
    assert events.commands == ["until ip netns exec a ping -c 1 >/dev/null 2>&1; do sleep 0.02; done"]
    assert events.told[0]["status"] == 0


def test_until_gives_up_when_its_time_is_over() -> None:
    a, events = node(FakeShell({"ping": Result(1, "", ""), "ss": " \n"}))
    began = time.monotonic()
    assert not a.until("ping", timeout=0.06)
    assert not a.until_prints("ss", timeout=0.06)
    assert 0.1 < time.monotonic() - began < 5
    assert [event["status"] for event in events.told] == [None, None]


def test_until_something_is_printed() -> None:
    printed = iter(["", "\n", "LISTEN\n"])
    a, events = node(FakeShell({"ss": lambda _: Result(0, next(printed), "")}))
    assert a.until_prints("ss", "-l")
    assert events.commands == ["until ip netns exec a ss -l | grep -q .; do sleep 0.02; done"]


def test_a_program_in_the_background_has_a_log_whose_tail_is_kept(home: Path) -> None:
    def begin(call: Call, log: Path) -> None:
        log.write_text("x" * TAIL_LENGTH + "last")

    a, events = node(shell := FakeShell(begins={"daemon": begin}))
    process = a.start("daemon", "--now", log="the-daemon")
    assert process is shell.started[0]
    assert events.commands == [f"ip netns exec a daemon --now >>{home}/a/the-daemon.log 2>&1 &"]
    assert a.tails() == {"a/the-daemon.log": "x" * (TAIL_LENGTH - 4) + "last"}
    (home / "a" / "the-daemon.log").unlink()
    assert a.tails() == {}


def test_a_file_is_journaled_with_its_text(home: Path) -> None:
    a, events = node(FakeShell())
    a.write(home / "a" / "conf", "port 1\n")
    assert (home / "a" / "conf").stat().st_mode & 0o777 == 0o600
    assert events.told == [{"event": "file", "node": "a", "path": f"{home}/a/conf", "text": "port 1\n"}]


def test_a_note_stands_for_what_was_done_otherwise() -> None:
    lab, events = node(shell := FakeShell(), "lab")
    lab.note("ip netns add a")
    assert (shell.calls, events.commands) == ([], ["ip netns add a"])


def test_nodes_have_names_of_their_own() -> None:
    a, b = two_nodes(FakeShell(), events := FakeEvents())
    a.run("true")
    b.run("true")
    assert events.commands == ["ip netns exec a true", "ip netns exec b true"]


def test_until_ends_as_soon_as_there_is_nothing_to_wait_for() -> None:
    a, events = node(shell := FakeShell({"ping": Result(1, "", "")}))
    reasons = iter(["", "", "its daemon ended"])
    began = time.monotonic()
    assert not a.until("ping", timeout=20, unless=lambda: next(reasons))
    assert time.monotonic() - began < 10
    assert len(shell.calls) == 3
    assert events.told[0]["status"] is None


def test_what_succeeds_needs_no_reason_to_wait() -> None:
    a, events = node(FakeShell())
    assert a.until("ping", unless=lambda: pytest.fail("it was asked"))
    assert events.told[0]["status"] == 0


def test_a_log_that_a_program_writes_on_its_own_is_kept(home: Path) -> None:
    a, events = node(FakeShell())
    a.keep(home / "a" / "own.log")
    assert a.tails() == {}
    (home / "a" / "own.log").write_text("x" * TAIL_LENGTH + "connected")
    assert a.tails() == {"a/own.log": "x" * (TAIL_LENGTH - 9) + "connected"}
    assert events.told == []


def test_of_a_log_without_end_the_tail_alone_is_read_and_it_is_told(home: Path) -> None:
    a, _ = node(FakeShell())
    a.start("daemon", log="flood")
    assert a.cut_logs() == ""
    with (home / "a" / "flood.log").open("r+b") as file:
        # A sparse file, which no memory would hold.
        file.truncate(1 << 40)
        file.seek(0, 2)
        file.write("last ünïcode".encode())
    assert a.tails()["a/flood.log"].endswith("last ünïcode")
    assert len(a.tails()["a/flood.log"]) == TAIL_LENGTH
    with pytest.raises(ValueError, match=r"flood\.log has more than 64 MiB$"):
        a.read(home / "a" / "flood.log")
    assert a.cut_logs() == "the log a/flood.log has grown to 128 MiB"
    assert a.tails()["a/flood.log"].endswith("last ünïcode")
    assert (home / "a" / "flood.log").stat().st_size < 5 * TAIL_LENGTH
    assert a.cut_logs() == ""


@pytest.fixture
def machine(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine on which process 7 holds the node a, with what /proc, /sys and /run have there and on itself."""
    monkeypatch.setattr(node_module, "ROOT", root := home / "machine")
    for path, text in {
        "proc/stat": "cpu of the machine\n",
        "proc/7/root/proc/1/net/dev": "eth0: 9\n",
        "proc/7/root/proc/12/clear_refs": "",
        "proc/7/root/run/daemon.pid": "12\n",
        "proc/7/root/sys/devices/cpu1/online": "1\n",
        "proc/7/root/sys/devices/cpu0/online": "1\n",
    }.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return root


def test_a_node_has_files_of_its_own_and_its_machine_has_others(machine: Path) -> None:
    a, events = node(shell := FakeShell())
    assert a.read(Path("/proc/1/net/dev")) == "eth0: 9\n"
    assert a.exists(Path("/run/daemon.pid"))
    assert not a.exists(Path("/proc/stat"))
    assert a.machine.read(Path("/proc/stat")) == "cpu of the machine\n"
    assert a.names(Path("/run")) == ["daemon.pid"]
    assert a.matching(Path("/sys/devices"), "cpu*/online") == [
        Path(f"/sys/devices/cpu{core}/online") for core in (0, 1)
    ]
    assert (shell.calls, events.told) == ([], []), "nobody needs what was looked at to repeat a trial"


def test_what_is_in_the_home_of_a_node_is_the_same_for_all(home: Path, machine: Path) -> None:
    a, _ = node(FakeShell())
    (home / "a" / "key").write_text("KEY\n")
    assert a.read(home / "a" / "key") == a.machine.read(home / "a" / "key") == "KEY\n"
    assert a.read_bytes(home / "a" / "key") == b"KEY\n"


def test_a_file_that_is_not_there_is_empty_for_who_says_so(machine: Path) -> None:
    a, _ = node(FakeShell())
    gone = Path("/proc/99/stat")
    assert (a.read_if_there(gone), a.tail(gone), a.matching(Path("/gone"), "*")) == ("", "", [])
    a.remove(gone)
    for look in (a.read, a.read_bytes, a.names):
        with pytest.raises(FileNotFoundError):
            look(gone)


def test_a_value_of_the_kernel_is_set_and_an_empty_file_is_made(home: Path, machine: Path) -> None:
    a, events = node(FakeShell())
    a.set_value(Path("/proc/12/clear_refs"), "5")
    assert (machine / "proc/7/root/proc/12/clear_refs").read_text() == "5"
    with pytest.raises(FileNotFoundError):
        a.set_value(Path("/proc/13/clear_refs"), "5")
    a.touch(home / "a" / "go")
    assert (home / "a" / "go").read_text() == ""
    assert events.commands == [f"touch {home}/a/go"]
    a.remove(home / "a" / "go")
    assert not (home / "a" / "go").exists()


def test_all_processes_of_a_node_are_ended_as_a_person_would_type_it(monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[str] = []
    monkeypatch.setattr(processes, "kill_all", ended.append)
    a, events = node(FakeShell())
    a.kill_all()
    assert ended == ["7"]
    assert events.commands == ["ip netns pids a | xargs --no-run-if-empty kill -KILL"]


def test_whether_a_program_is_installed_is_asked_and_not_journaled() -> None:
    a, events = node(FakeShell({"ethtool": Result(127, "", "")}))
    assert (a.has("tc"), a.has("ethtool"), events.told) == (True, False, [])
