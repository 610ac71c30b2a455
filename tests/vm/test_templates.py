"""What starts from a template: the bytes of a fresh boot, and nothing of another seed's."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.measuring import plan
from tests.helpers.traces import that_name
from tunbench.labs.vm import explore
from tunbench.labs.vm.templates import seal, start
from tunbench.plan.axes.stack import PlannedStack
from tunbench.run.order import read_order
from tunbench.runner.node.shell import wait_until

pytestmark = pytest.mark.vm

DRAWN_WHEN_FIRST_USED = (
    *("inet_ehash_secret", "inet6_ehash_secret", "ipv6_hash_secret", "udp_ehash_secret", "udp6_ehash_secret"),
    *("udp_ipv6_hash_secret", "net_secret", "syncookie_secret", "hashrnd", "sysctl_bootid"),
)
"""Secrets of the kernel's TCP, UDP, IPv6 and flow dissector, and its boot id: all zeros until then."""

DRAWN_BY_THE_SCRIPT = {"inet_ehash_secret", "inet6_ehash_secret", "ipv6_hash_secret", "net_secret", "sysctl_bootid"}

SCRIPT = r"""
cat >/tmp/secrets.py <<'END'
import re, struct, sys
wanted = sys.argv[1].split(",")
places = sorted((int(line.split()[0], 16), line.split()[2]) for line in open("/proc/kallsyms") if "[" not in line)
core = open("/proc/kcore", "rb", buffering=0)
head = core.read(64)
(table,), (size, count) = struct.unpack_from("<Q", head, 32), struct.unpack_from("<HH", head, 54)
core.seek(table)
segments = [struct.unpack_from("<IIQQQQQQ", core.read(size)) for _ in range(count)]
def read(place, size):
    for kind, _, offset, begin, _, _, length, _ in segments:
        if kind == 1 and begin <= place < begin + length:
            core.seek(offset + place - begin)
            return core.read(size)
for (place, name), (following, _) in zip(places, places[1:]):
    if re.sub(r"\.\d+$", "", name) in wanted:
        print(sys.argv[2], name.partition(".")[0], read(place, min(following - place, 16)).hex())
for name in ("arp_tbl", "nd_tbl"):
    table = read(dict((name, place) for place, name in places)[name], 600)
    # The last pointer is to buckets, their number, and four odd random numbers.
    for pointer, in list(struct.iter_unpack("<Q", table))[::-1]:
        if pointer >> 44 == 0xffff8 and (found := read(pointer, 28)):
            buckets, shift, *numbers = struct.unpack("<QI4I", found)
            if buckets >> 44 == 0xffff8 and all(number & 1 for number in numbers):
                print(sys.argv[2], name, *(f"{number:08x}" for number in numbers))
                break
END
python3 /tmp/secrets.py @NAMES@ before
ip link set lo up
tcpdump -i lo -c 2 -n -S -w /tmp/handshake -Z root 2>/dev/null &
sleep 0.2
python3 - <<'END'
import socket
for family, host in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
    with socket.create_server((host, 0), family=family) as server, socket.create_connection(server.getsockname()[:2]):
        pass
END
wait
tcpdump -r /tmp/handshake -n -S 2>/dev/null | sed -n 's/.* seq \([0-9]*\),.*/after sequence \1/p'
echo after wireguard $(wg genkey)
echo after urandom $(od -An -tx1 -N16 /dev/urandom)
echo after boot $(cat /proc/sys/kernel/random/boot_id)
for file in /etc/machine-id /var/lib/dbus/machine-id; do test -e $file && echo after machine $(cat $file); done
python3 /tmp/secrets.py @NAMES@ after
""".replace("@NAMES@", ",".join(DRAWN_WHEN_FIRST_USED))

DRAWN_ANEW = {"arp_tbl", "nd_tbl"}
"""What was drawn as the kernel booted, and is drawn once more: the hashes of neighbours."""

Drawn = list[tuple[str, str, str]]
"""What a script printed: when, what, and its value."""


@pytest.fixture
def first() -> Path:
    """The templates of the cache that is usual."""
    return start.shelf().folder


def drawn(folder: Path, seed: int) -> Drawn:
    script = folder / "script"
    script.write_text(SCRIPT)
    printed, status = explore.script(script, seed, "virtual")
    assert status == 0, printed
    found = re.findall(r"^(before|after) (\S+) (.+)$", printed, re.MULTILINE)
    return [(when, what, value) for when, what, value in found]


@pytest.fixture(scope="module")
def of_seed_1(tmp_path_factory: pytest.TempPathFactory) -> Drawn:
    return drawn(tmp_path_factory.mktemp("seed-1"), 1)


def values(told: Drawn, when: str) -> dict[str, str]:
    return {what: value for moment, what, value in told if moment == when}


def test_two_seeds_share_no_key_no_sequence_number_and_no_hash(of_seed_1: Drawn, tmp_path: Path) -> None:
    of_seed_2 = drawn(tmp_path, 2)
    assert [one[:2] for one in of_seed_1] == [one[:2] for one in of_seed_2]
    for told in (of_seed_1, of_seed_2):
        before = values(told, "before")
        assert before.keys() == {*DRAWN_WHEN_FIRST_USED, *DRAWN_ANEW}, "each is found"
        assert {what for what in DRAWN_WHEN_FIRST_USED if int(before[what], 16)} == set(), "none is drawn yet"
    first, second = values(of_seed_1, "after"), values(of_seed_2, "after")
    drawn_by_now = {what for what, value in first.items() if set(value) != {"0"}}
    assert drawn_by_now >= {*DRAWN_BY_THE_SCRIPT, *DRAWN_ANEW, "sequence", "wireguard", "urandom", "boot"}
    assert {what for what in drawn_by_now if first[what] == second[what]} == set()


def test_another_template_gives_the_same_bytes_of_the_same_seed(
    of_seed_1: Drawn, tmp_path: Path, first: Path, other_cache: Path
) -> None:
    assert drawn(tmp_path, 1) == of_seed_1
    [other] = [path for path in other_cache.iterdir() if path.is_dir()]
    assert (other / seal.SEAL).read_text() == (first / other.name / seal.SEAL).read_text(), "templates are equal too"


def test_a_fresh_boot_gives_the_same_bytes_of_the_same_seed(
    of_seed_1: Drawn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(start.SWITCH, "off")
    assert drawn(tmp_path, 1) == of_seed_1


def events(folder: Path, machine: str, profile: str = "medium") -> bytes:
    """What a shard tells from its beginning to its end."""
    text = plan(["wireguard"], f'["{profile}"]', ["ping:count=5"]).replace("[lab]", f"machine = {machine}\n[lab]")
    order = read_order(text, "test.toml", {})
    folder.mkdir()
    vm = order.lab.start(order.shards[0], folder)
    try:
        assert wait_until(lambda: not vm.running(), 300, 0.1)
        assert vm.warnings == ()
        return (folder / "events.jsonl").read_bytes()
    finally:
        vm.stop()


@pytest.mark.parametrize(
    "machine", ['"full"', pytest.param('{ name = "apic", cpu.speed = 1500 }', marks=pytest.mark.long)]
)
def test_a_shard_tells_the_same_whether_it_was_loaded_or_booted(
    machine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = events(tmp_path / "loaded", machine)
    assert b'"end"' in loaded
    monkeypatch.setenv(start.SWITCH, "off")
    assert events(tmp_path / "booted", machine) == loaded


def test_a_shard_tells_the_same_whether_its_stack_was_up_or_came_up(
    tmp_path: Path, other_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PlannedStack, "saved_when_up", True)
    loaded = [events(tmp_path / profile, '"full"', profile) for profile in ("medium", "baseline")]
    [saved] = [path.read_bytes() for path in other_cache.glob("*/events.jsonl")]
    assert b'"proof"' in saved and all(one.startswith(saved) for one in loaded), "both go on from there"
    monkeypatch.setenv(start.SWITCH, "off")
    assert events(tmp_path / "booted", '"full"', "medium") == loaded[0]


def test_kill_9_while_a_template_is_made_leaves_nothing_that_is_used(
    of_seed_1: Drawn, tmp_path: Path, other_cache: Path
) -> None:
    program = "import sys; from pathlib import Path; from tunbench.labs.vm import explore; "
    program += "explore.script(Path(sys.argv[1]), 1, 'virtual')"
    (tmp_path / "script").write_text(SCRIPT)
    # The folder of the VM lies there, so that its command names it.
    process = subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path / "script")], env={**os.environ, "TMPDIR": str(tmp_path)}
    )
    assert wait_until(lambda: any(other_cache.glob(".making-*/memory")), 60)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert wait_until(lambda: that_name(tmp_path) == [], 5), "the VM ends with it"
    assert drawn(tmp_path, 1) == of_seed_1
    assert [path.name for path in other_cache.iterdir() if path.name.startswith(".")] == []


@pytest.mark.long
def test_a_template_with_one_wrong_bit_is_made_anew(of_seed_1: Drawn, tmp_path: Path, other_cache: Path) -> None:
    drawn(tmp_path, 1)
    [template] = [path for path in other_cache.iterdir() if path.is_dir()]
    with (template / "memory").open("r+b") as memory:
        memory.seek(32 << 20)
        byte = memory.read(1)[0]
        memory.seek(32 << 20)
        memory.write(bytes([byte ^ 1]))
    assert not seal.whole(template)
    assert drawn(tmp_path, 1) == of_seed_1
    assert seal.whole(template)
