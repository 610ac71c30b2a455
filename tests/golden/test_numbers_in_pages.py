"""The limits, numbers and entries that pages tell are those of the code."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.documentation import DOCS, ROOT, named, page, rows
from tunbench import analysis
from tunbench.executors import pool
from tunbench.executors.cluster import fitness
from tunbench.labs.real_time import host_state, noise
from tunbench.labs.vm import boot as vm_boot
from tunbench.labs.vm import lab as vm_lab
from tunbench.labs.vm.templates import shelf
from tunbench.labs.vm.templates import start as templates
from tunbench.plan.estimate import wall_clock
from tunbench.plan.estimate.duration import estimate
from tunbench.plan.expand import expand
from tunbench.plan.load import load, shipped_studies
from tunbench.run.manifest import DECIDING_FACTS
from tunbench.runner import shard, stack
from tunbench.runner.declare.warnings import WarningKind
from tunbench.runner.node import command, communicate, limits, node
from tunbench.runner.proof import echo, proof


def test_the_limits_of_programs_are_those_of_the_page() -> None:
    table = (DOCS / "reliability.md").read_text().partition("| limit |")[2].partition("\n\n")[0]
    told = {tuple(cell.strip() for cell in line.split("|")[1:3]) for line in table.splitlines()[2:]}
    assert told == {
        (f"{limits.MAX_FILE >> 20} MiB", "a file, such as a log"),
        (f"{limits.MAX_MEMORY >> 30} GiB", "memory of its own that a process may write to (`RLIMIT_DATA`)"),
        (
            f"{limits.MAX_MEMORY >> 30} GiB",
            "memory that all processes of a node use, on the native lab (one look a second)",
        ),
        (
            f"{vm_boot.GUEST_GIB} GiB, or what its stack [needs](adding-a-tunnel.md#what-it-declares)",
            "all memory of a VM",
        ),
        (f"{limits.MAX_PROCESSES:,}", "processes and threads of a node (native: Linux 6.14 and later), of a VM"),
        (f"{communicate.MAX_OUTPUT >> 20} MiB", "what a command prints"),
        (f"{node.COMMAND_TIMEOUT:g} s, or what the workload declares", "a command"),
        (f"{limits.WORKLOAD_OVERTIME / 60:g} min and ten times what it declares", "a workload"),
        (f"{stack.ANSWER_TIMEOUT:g} s", "the overlay's first answer"),
        ("1 s", "the end of a daemon after `SIGTERM`"),
        (f"{pool.WALL_LIMIT / 60:g} min of wall clock, or five times its estimate where that is longer", "a shard"),
    }


@pytest.mark.parametrize("name", ["methodology.md", "limitations.md"])
def test_the_limit_of_a_shard_stands_on_one_page(name: str) -> None:
    assert [text for text in (f"{pool.WALL_LIMIT:,.0f} s", f"{pool.WALL_LIMIT / 60:g} min") if text in page(name)] == []


SENTENCES = {
    "methodology.md": [
        f"sends {proof.ECHOES} echo requests with {proof.PAYLOAD} B of payload",
        f"each {1000 * echo.INTERVAL:g} ms after the reply to the one before, or after {echo.REPLY_TIMEOUT:g} s",
        f"a random marker of {proof.MARKER_SIZE} B",
        f"Packets of at least {proof.PAYLOAD} B are counted",
        f"fewer than {2 * proof.ECHOES} of them, {proof.ECHOES} requests and {proof.ECHOES} replies",
        f"the last {command.TAIL_LENGTH:,} characters of every log",
        f"there are {shard.REST_SECONDS:g} s in which the lab does nothing",
    ],
    "clusters.md": [
        f"{fitness.VM_BYTES / 2**30:g} GiB of memory for each thread",
        f"as much as it is sent, and {fitness.ROOM_BYTES >> 20} MiB",
        f"one boot ({wall_clock.BOOT_SECONDS:.0f} s on a free core)",
    ],
    "native.md": [
        f"more than {100 * noise.NOISY_SHARE:g} % of the machine's processor time",
        f"more than {noise.MOVED_APART_RATIO:g} times as long",
        f"more than {100 * host_state.MAX_STOLEN_SHARE:g} %",
    ],
    "virtual-time.md": [
        f"`-cpu {','.join(['max', *(f'-{feature}' for feature in vm_boot.MISSING_FEATURES)])}`",
        f"`-icount shift=0,{vm_boot.RECORDING}`",
        f"multiple of {vm_boot.ARCHIVE_GRANULE_BYTES >> 20} MiB",
        f"multiple of {vm_boot.PAYLOAD_GRANULE_BYTES >> 10} KiB",
        f"At most {shelf.MOST} of them and {shelf.MOST_BYTES >> 30} GiB",
        f"`{templates.SWITCH}=off`",
    ],
}
"""What pages say with a number that the code has."""


@pytest.mark.parametrize("name", SENTENCES)
def test_sentences_have_the_numbers_of_the_code(name: str) -> None:
    assert [sentence for sentence in SENTENCES[name] if sentence not in page(name)] == []


def test_the_warnings_before_a_run_are_counted_right() -> None:
    kinds = [cells[0].strip("`") for cells in rows(page("methodology.md"), "warning")]
    numbers = ("eight", "nine", "ten", "eleven", "twelve")
    [told] = re.findall(r"The first (\w+) are found before a run", page("methodology.md"))
    every = list(WarningKind)
    assert set(kinds[: 8 + numbers.index(told)]) == set(every[: every.index(WarningKind.NOISY)])


# What equality depends on


def test_the_entries_of_the_manifest_are_those_of_the_page() -> None:
    entries = [entry for cells in rows(page("virtual-time.md"), "what") for entry in named(cells[1])]
    assert {entry.partition(".")[0] for entry in entries} == {*DECIDING_FACTS, *vm_lab.DECIDING_FACTS}


def test_no_page_counts_the_entries_of_the_manifest() -> None:
    assert re.findall(r"(\w+) entries of the manifest", page("virtual-time.md")) in ([], ["of"], ["the"])


def test_the_moments_of_the_kills_are_those_of_the_test() -> None:
    [moments] = re.findall(
        r'parametrize\("moment", \[(\d+), (\d+)\]', (ROOT / "tests/vm/test_virtual_time.py").read_text()
    )
    assert "(SIGKILL) {} s and {} s after".format(*moments) in page("virtual-time.md")


OPENS = {"open", "read_text", "read_bytes", "write_text", "write_bytes", "write_parquet", "write_csv"}
FROM_FOLDERS = {
    "files.text",
    "files.write",
    "read.plan",
    "read.begun",
    "record_of",
    "read.loaded_plan",
    "published.read",
    "published.numbers_of_tables",
    "journal.events",
}


def test_the_analysis_reads_and_writes_nothing() -> None:
    root = Path(str(analysis.__path__[0]))
    found = set()
    for path in sorted(root.rglob("*.py")):
        for call in (thing for thing in ast.walk(ast.parse(path.read_text())) if isinstance(thing, ast.Call)):
            name = ast.unparse(call.func)
            if name in FROM_FOLDERS or name.rpartition(".")[2] in OPENS:
                found.add(str(path.relative_to(root)))
    assert found == set()
    [rule] = re.findall(r"^\d+\. (Analysis .*?)\n\n", (ROOT / "CONTRIBUTING.md").read_text(), re.MULTILINE | re.DOTALL)
    assert "reads and writes no file" in " ".join(rule.split())


def test_the_page_of_clusters_tells_the_time_of_every_study() -> None:
    told = {cells[0].strip("`"): cells[1:] for cells in rows(page("clusters.md"), "study")}
    assert told == {name: list(times_of(name)) for name in shipped_studies()}


def times_of(study: str) -> Iterator[str]:
    """How many shards its full scale has, and how long 1, 10 and 100 cores take."""
    shards = expand(load(study).plan)
    yield f"{len(shards):,}"
    for cores in (1, 10, 100):
        minutes = estimate(shards, cores) / 60
        yield (
            f"{minutes:.0f} min"
            if minutes < 100
            else f"{minutes / 60:.0f} h"
            if minutes > 600
            else f"{minutes / 60:.1f} h"
        )
