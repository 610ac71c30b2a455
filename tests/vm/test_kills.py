"""`kill -9` of the controlling process and of QEMU: after --resume the fingerprint is that of an undisturbed run."""

import os
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.helpers.kills import RUN, Killer, suspend
from tests.helpers.measuring import plan
from tunbench.journal import journal
from tunbench.journal.readers.registry import record_of
from tunbench.labs.vm.templates import start
from tunbench.runner.node.shell import wait_until

pytestmark = [pytest.mark.vm, pytest.mark.reliability]

PLAN = plan(["none", "wireguard"], '["baseline"]', ["ping:count=10"])

Property = Callable[[str, object], None]


class Alike:
    """Says that each run has the fingerprint of the first."""

    def __init__(self) -> None:
        self.fingerprint = ""

    def check(self, run: Path) -> None:
        record = record_of(run)
        assert record.interrupted == ()
        assert {trial.verdict for trial in record.trials} == {"ok"}
        self.fingerprint = self.fingerprint or record.manifest["fingerprint"]
        assert record.manifest["fingerprint"] == self.fingerprint
        assert (run / "report.html").read_text().rstrip().endswith("</html>")


def killed(count: int, seed: int, folder: Path, record_property: Property) -> None:
    killer = Killer(PLAN, folder, "qemu-system-x86_64", "VM", Alike().check)
    record_property("reliability", f"{killer.kill(count, seed).figure}; one fingerprint")


@pytest.mark.timeout(1200)
def test_the_fingerprint_is_the_same_after_3_kills(tmp_path: Path, record_property: Property) -> None:
    killed(3, 1, tmp_path, record_property)


@pytest.mark.long
@pytest.mark.timeout(7200)
def test_the_fingerprint_is_the_same_after_100_kills(tmp_path: Path, record_property: Property) -> None:
    killed(100, 2, tmp_path, record_property)


def remove_templates(folder: Path) -> None:
    for path in folder.glob("[!.]*"):
        if path.is_dir():
            shutil.rmtree(path)


def killed_while_made(count: int, seed: int, folder: Path, record_property: Property) -> None:
    """As above, where no command finds a template, but what was left by one that was killed while it made one."""
    templates, alike = start.shelf().folder, Alike()
    killer = Killer(PLAN, folder, "qemu-system-x86_64", "VM", alike.check)
    killer.prepare = lambda: remove_templates(templates)
    record_property("reliability", f"{killer.kill(count, seed).figure}; one fingerprint, no half template")
    assert [path.name for path in templates.iterdir() if path.name.startswith(".")] == []


@pytest.mark.timeout(1200)
def test_the_fingerprint_is_the_same_after_2_kills_with_templates_to_be_made(
    tmp_path: Path, other_cache: Path, record_property: Property
) -> None:
    killed_while_made(2, 3, tmp_path, record_property)


@pytest.mark.long
@pytest.mark.timeout(7200)
def test_the_fingerprint_is_the_same_after_50_kills_with_templates_to_be_made(
    tmp_path: Path, other_cache: Path, record_property: Property
) -> None:
    killed_while_made(50, 4, tmp_path, record_property)


def under_way(run: Path) -> set[str]:
    """The shards whose VMs have told something."""
    if not (run / journal.NAME).exists():
        return set()
    return {event["shard"] for event in journal.events(run) if event["event"] == "phase"}


def test_a_vm_that_was_killed_is_told_and_the_rest_goes_on(tmp_path: Path, record_property: Property) -> None:
    alike = Alike()
    killer = Killer(PLAN, tmp_path, "qemu-system-x86_64", "VM", alike.check)
    process = killer.begin(run := tmp_path / "run")
    assert wait_until(lambda: bool(killer.labs(run)), 60)
    second = subprocess.run([*RUN, "--resume", str(run)], capture_output=True, text=True)
    assert second.returncode == 2
    assert f"another process writes to {run}/journal.jsonl; wait for it, or end it" in second.stderr.replace("\n", "")
    # One that is killed before it tells anything is loaded or booted anew, and nothing is interrupted.
    assert wait_until(lambda: len(under_way(run)) == 2, 120)
    os.kill(killer.labs(run)[0], 9)
    assert process.wait(300) == 1
    assert "1 shard was interrupted; go on with: tunbench run --resume" in killer.printed()
    assert len(record_of(run).interrupted) == 1
    assert killer.begin(run).wait(300) == 0
    alike.check(run)
    told = "a second process is refused; 1 of 2 shards interrupted and told, exit code 1; --resume completes it"
    record_property("reliability", told)


@pytest.mark.long
def test_a_machine_that_is_suspended_changes_nothing(tmp_path: Path, record_property: Property) -> None:
    alike = Alike()
    killer = Killer(PLAN, tmp_path, "qemu-system-x86_64", "VM", alike.check)
    for name, pause in (("undisturbed", 0.0), ("suspended", 10.0)):
        process = killer.begin(run := tmp_path / name)
        assert wait_until(lambda run=run: bool(killer.labs(run)), 60)  # type: ignore[misc]
        time.sleep(4)
        suspend(process.pid, pause)
        assert process.wait(300) == 0, killer.printed()
        alike.check(run)
    record_property("reliability", "10 s in which no process of the run had the processor: one fingerprint")
