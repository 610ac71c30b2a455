"""Fakes: a shell that starts nothing, events that are kept, and a lab whose shards are scripted."""

import shlex
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self

import pytest

from tests.helpers.small_plans import usual_values
from tunbench.labs.execution import Execution
from tunbench.labs.extras import Extra, Needing
from tunbench.labs.real_time.host_state import HostState
from tunbench.labs.vm.lab import DECIDING_FACTS
from tunbench.plan.axes.machine import Machine
from tunbench.plan.axes.profile import Profile
from tunbench.plan.axes.stack import parse as parse_stack
from tunbench.plan.axes.workload import parse as parse_workload
from tunbench.plan.shard import Shard
from tunbench.plugins.folder import Plugin
from tunbench.runner import tunnel
from tunbench.runner.declare.access import Accesses
from tunbench.runner.declare.warnings import WarningKind
from tunbench.runner.node import cores, namespaces, node, processes
from tunbench.runner.node.files import LocalFiles
from tunbench.runner.node.node import Node
from tunbench.runner.node.shell import LocalShell, Result
from tunbench.runner.proof import pcap as pcap_format

CAPTURED = Path(__file__).parents[1] / "captured"

MARKER = bytes.fromhex("00112233445566778899aabbccddeeff")
"""The marker in the captured proofs."""

OK = Result(0, "", "")


def captured(name: str) -> str:
    """What a real program printed."""
    return (CAPTURED / name).read_text()


def move_home(monkeypatch: pytest.MonkeyPatch, folder: Path, nodes_are: str = "there") -> Path:
    """Lets the nodes keep their files in this folder instead of /mnt/lab; nodes that are `made` bring their own."""
    for module in (node, namespaces, tunnel):
        monkeypatch.setattr(module, "HOME", folder)
    # Nodes look at a machine that shows nothing, and not at this one.
    monkeypatch.setattr(node, "ROOT", folder / ".nothing")
    for name in ("a", "b", "kube", "control", "relay", "router", "bridge", "edge") if nodes_are == "there" else ():
        (folder / name).mkdir()
    return folder


class FakeEvents:
    """Keeps the events that it is told."""

    def __init__(self) -> None:
        self.told: list[dict[str, Any]] = []

    def tell(self, event: str, **fields: Any) -> None:
        self.told.append({"event": event, **fields})

    def of(self, event: str) -> list[dict[str, Any]]:
        return [one for one in self.told if one["event"] == event]

    @property
    def commands(self) -> list[str]:
        return [one["shell"] for one in self.of("command")]


class Call(NamedTuple):
    """A command that the shell was given, without what enters a node."""

    argv: list[str]
    stdin: str
    timeout: float | None

    @property
    def text(self) -> str:
        return shlex.join(self.argv)


class FakeProcess:
    """A program in the background: it runs until it is ended, or has ended already with a status."""

    def __init__(self, call: Call, status: int | None = None) -> None:
        self.call = call
        self.status = status
        self.ended = ""

    def poll(self) -> int | None:
        return self.status

    def at_rest(self) -> bool:
        return True

    def stop(self) -> None:
        self.ended, self.status = "stopped", -15

    def kill(self) -> None:
        self.ended, self.status = "killed", -9


Answer = Result | str | Callable[[Call], Result]
Begin = Callable[[Call, Path], int | None]
"""What happens as a program starts in the background: it may write its log, and may return a status to end at once."""


class FakeShell(LocalFiles):
    """Executes nothing. The first entry of `answers` whose key is in the command's text answers; else it succeeds."""

    python = LocalShell.python

    def __init__(self, answers: dict[str, Answer] | None = None, begins: dict[str, Begin] | None = None) -> None:
        self.answers = answers or {}
        self.begins = begins or {}
        self.calls: list[Call] = []
        self.started: list[FakeProcess] = []

    def run(self, argv: Sequence[str], timeout: float, stdin: str = "") -> Result:
        call = Call(_inner(argv), stdin, timeout)
        self.calls.append(call)
        for key, answer in self.answers.items():
            if key in call.text:
                return Result(0, answer, "") if isinstance(answer, str) else _answered(answer, call)
        return OK

    def read_bytes(self, path: str, most: int | None = None) -> bytes:
        for key, answer in self.answers.items():
            if key in path:
                found = answer if isinstance(answer, str) else _answered(answer, Call(["cat", path], "", None)).stdout
                return found.encode()
        return super().read_bytes(path, most)

    def kill_all(self, holder: str) -> None:
        processes.kill_all(holder)

    def visit_cores(self) -> set[str]:
        return cores.visit_all()

    def start(self, argv: Sequence[str], log: Path) -> FakeProcess:
        call = Call(_inner(argv), "", None)
        self.calls.append(call)
        log.touch()
        status = next((begin(call, log) for key, begin in self.begins.items() if key in call.text), None)
        self.started.append(FakeProcess(call, status))
        return self.started[-1]

    @property
    def texts(self) -> list[str]:
        return [call.text for call in self.calls]


def _answered(answer: Result | Callable[[Call], Result], call: Call) -> Result:
    return answer if isinstance(answer, Result) else answer(call)


def _inner(argv: Sequence[str]) -> list[str]:
    words = list(argv)
    if words[0] in node.BATCHES and words[1:2] == ["-n"]:
        return [words[0], *words[3:]]
    inner = words[words.index("--") + 1 :] if words[0] == "nsenter" else words
    return inner[3:] if inner[0] == "taskset" else inner


def two_nodes(shell: FakeShell, events: FakeEvents) -> list[Node]:
    """The endpoints a and b."""
    return [Node(name, shell, events, ["nsenter", "--target", name, "--"]) for name in ("a", "b")]


def pcap(packets: Sequence[bytes], order: str = "<") -> bytes:
    """A pcap file, in the byte order of this or of another machine."""
    head = struct.pack(order + "IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
    return head + b"".join(struct.pack(order + "IIII", 0, 0, len(one), len(one)) + one for one in packets)


def packets_in(path: Path) -> list[bytes]:
    """The packets of a capture."""
    return [packet.data for packet in pcap_format.read(path.read_bytes()).packets]


def interface(name: str, index: int = 0) -> str:
    """The name of a layer's interface."""
    return f"{name}-{index}"


def _vxlan(packet: bytes) -> bool:
    return packet[23] == 17 and packet[36:38] == b"\x12\xb5" and packet[42:50] == b"\x08\0\0\0\0\0\x2a\0"


FILTERS: dict[str, Callable[[bytes], bool]] = {
    "ip or ip6": lambda packet: packet[12:14] == b"\x08\x00",
    "udp port 51820 and udp[8:4] = 0x04000000": lambda packet: packet[23] == 17 and packet[42:46] == b"\x04\0\0\0",
    "udp dst port 4789 and udp[8:4] = 0x08000000 and udp[12:4] = 0x00002a00": _vxlan,
    # One capture stands for every VXLAN layer of a stack.
    "udp dst port 4789 and udp[8:4] = 0x08000000 and udp[12:4] = 0x00000700": _vxlan,
}
"""The evidence that some tunnels declare, as tcpdump would find it in a captured packet without IP options."""


class FakeLabShell(FakeShell):
    """A shell in which a whole shard can live: namespaces appear, captures are those of a real proof."""

    def __init__(
        self, home: Path, proof: str, answers: dict[str, Answer] | None = None, begins: dict[str, Begin] | None = None
    ) -> None:
        self.home = home
        self.proof = CAPTURED / proof
        usual: dict[str, Answer] = {
            "-w": self._filter,
            "-I -S -": "",
            "ping -V": "ping from iputils 20221126\n",
            "ping -n -I ": "",
            "ping -n": captured("ping-clean.txt"),
            "ss -Hltn": "LISTEN 0 4096 *:5201 *:*\n",
            "iperf3 --version": "iperf 3.12 (cJSON 1.7.15)\nLinux\n",
            "iperf3 --client": captured("iperf3-tcp.json"),
        }
        # A server of one test has ended when its client has.
        programs: dict[str, Begin] = {"unshare": self._hold, "tcpdump": self._capture, "iperf3": lambda *_: 0}
        super().__init__(
            (answers or {}) | {key: answer for key, answer in usual.items() if key not in (answers or {})},
            programs | (begins or {}),
        )

    def _hold(self, call: Call, log: Path) -> None:
        (self.home / log.stem / ".pid").write_text("101\n")

    def _capture(self, call: Call, log: Path) -> None:
        log.write_text(f"tcpdump: listening on {call.argv[2]}, link-type EN10MB\n")
        Path(call.argv[call.argv.index("-w") + 1]).write_bytes(self.proof.read_bytes())

    def _filter(self, call: Call) -> Result:
        source, target, expression = call.argv[2], call.argv[4], call.argv[5]
        Path(target).write_bytes(pcap([one for one in packets_in(Path(source)) if FILTERS[expression](one)]))
        return OK


def shard(stack: str = "none", repeat: int = 1, *workloads: str) -> Shard:
    """A shard without impairment."""
    return with_profile(Profile("baseline", {}, {}), stack, repeat, *workloads)


def with_profile(profile: Profile, stack: str = "none", repeat: int = 1, *workloads: str) -> Shard:
    """A shard with such an impairment, and all else as usual."""
    parsed = tuple(parse_workload(text) for text in workloads or ("ping:count=5",))
    return Shard({**usual_values(), "profile": profile, "stack": parse_stack(stack)}, parsed, repeat, 7)


class FakeExecution:
    """A shard under way whose events are given: a batch for each look, and then it ends, unless it `hangs`."""

    def __init__(self, batches: Sequence[bytes], hangs: bool = False, age: float = 1.0) -> None:
        self.batches = list(batches)
        self.hangs = hangs
        self.seconds = age
        self.stopped = 0
        self.lost = ""
        self.wakes: tuple[int, ...] = ()
        self.warnings: tuple[tuple[WarningKind, str], ...] = ()

    def lines(self) -> list[bytes]:
        return self.batches.pop(0).splitlines() if self.batches else []

    def running(self) -> bool:
        return self.hangs or len(self.batches) > 1

    def age(self) -> float:
        return self.seconds

    def stop(self) -> None:
        self.stopped += 1

    def last_words(self) -> str:
        return "Kernel panic"


class QuietLab:
    """A lab on the virtual clock that says nothing of itself."""

    kind = "vm"
    clock = "virtual"
    extras: tuple[Extra, ...] = ()
    plugins: tuple[Plugin, ...] = ()
    exclusive = False
    hidden_folders: tuple[Path, ...] = ()
    deciding_facts: Mapping[str, str] = DECIDING_FACTS

    def with_plugins(self, plugins: Iterable[Plugin]) -> Self:
        self.plugins = tuple(plugins)
        return self

    def with_extras(self, extras: Iterable[Extra]) -> Self:
        return self

    def check(
        self, needing: Iterable[Needing], machines: Iterable[Machine] = (), accesses: Iterable[Accesses] = ()
    ) -> dict[str, Any]:
        return {}

    def examine(self, shards: Sequence[Shard]) -> HostState | None:
        return None


class FakeLab(QuietLab):
    """A lab that executes each shard as its entry in `script` says, and remembers how many ran at once."""

    def __init__(self, script: Callable[[Shard], FakeExecution]) -> None:
        self.script = script
        self.executions: list[FakeExecution] = []
        self.most = 0

    def start(self, shard: Shard, folder: Path) -> Execution:
        assert folder.is_dir()
        self.executions.append(self.script(shard))
        self.most = max(self.most, sum(not one.stopped for one in self.executions))
        return self.executions[-1]
