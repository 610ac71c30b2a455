"""What `verify` and `pack` print: `tests/golden/verify/CASE.txt`, whose first line is the command and its exit code.

After a change that is meant: TUNBENCH_UPDATE_GOLDEN=1 pytest tests/unit/cli/test_verify.py && git diff tests/golden
"""

import json
import os
import re
import shlex
import shutil
import signal
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.fakes import FakeExecution
from tests.helpers.packed_runs import (
    archive,
    change_events,
    change_manifest,
    change_sample,
    members,
    odd,
    whole_run,
)
from tests.helpers.runs import PLAN, ScriptedLab, batches, events, invoke, ordered, runs_here
from tests.helpers.toolboxes import program
from tunbench.journal import journal
from tunbench.journal.read import MANIFEST
from tunbench.labs import registry as labs
from tunbench.plan.shard import Shard
from tunbench.run.results import finish
from tunbench.run.verify import archive as files_of_archive
from tunbench.run.verify import listed, provide
from tunbench.run.verify.pack import pack
from tunbench.runner import registry

GOLDEN = Path(__file__).parents[2] / "golden" / "verify"

RUN, ARCHIVE = Path("run"), Path("run.tar.bz2")

Patch = pytest.MonkeyPatch


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run, and its archive."""
    here = tmp_path_factory.mktemp("made")
    with pytest.MonkeyPatch.context() as patch:
        runs_here(patch, here)
        whole_run(RUN)
        pack(RUN, ARCHIVE)
    return here


@pytest.fixture(autouse=True)
def here(made: Path, monkeypatch: Patch, tmp_path: Path) -> Path:
    """A working folder with a copy of both, in which the scripted lab is that of the run."""
    shutil.copytree(made / RUN, tmp_path / RUN)
    shutil.copy(made / ARCHIVE, tmp_path)
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    return runs_here(monkeypatch, tmp_path)


def scripted(monkeypatch: Patch, told: Callable[[Shard], list[dict[str, Any]]], **facts: Any) -> None:
    """Lets the lab of this machine tell something else, and be another one."""
    lab = ScriptedLab(lambda shard: FakeExecution(batches(told(shard))))
    lab.facts |= facts
    monkeypatch.setattr(labs, "lab", lambda kind, clock: lab)


def nothing(_: Patch) -> None:
    pass


def of_head(change: Callable[[dict[str, Any]], object], also_of_manifest: bool = True) -> Callable[[Patch], None]:
    """Changes what the run says of itself before it begins, in its journal and in its manifest."""

    def prepare(_: Patch) -> None:
        change_events(RUN, lambda event: event["event"] == "run" and change(event))
        if also_of_manifest:
            head = json.loads((RUN / journal.NAME).read_text().splitlines()[0])
            change_manifest(RUN, lambda manifest: manifest.update(head["manifest"]))

    return prepare


def sample(_: Patch) -> None:
    change_sample(RUN)


def sample_and_manifest(_: Patch) -> None:
    change_sample(RUN)
    finish(RUN, lambda _: None)


def packed_sample(_: Patch) -> None:
    change_sample(RUN)
    archive(ARCHIVE, {**members(ARCHIVE), journal.NAME: (RUN / journal.NAME).read_bytes()})


def packed_plan(_: Patch) -> None:
    archive(ARCHIVE, {**members(ARCHIVE), "plan.toml": PLAN.replace("any", "other").encode()})


def packed_digests(_: Patch) -> None:
    archive(ARCHIVE, {**members(ARCHIVE), "digests": b"rm -rf /\n"})


def escape(_: Patch) -> None:
    archive(ARCHIVE, members(ARCHIVE), odd("../../.ssh/authorized_keys"))


def other_time(monkeypatch: Patch) -> None:
    """From the second event on all takes longer here, and so do round trips."""

    def told(shard: Shard) -> list[dict[str, Any]]:
        found = events(shard, factor=1.5 if shard.stack.name == "wireguard" else 1)
        if shard.stack.name == "wireguard":
            found[1]["took"] = 0.125
        return found

    scripted(monkeypatch, told)


def other_verdict(monkeypatch: Patch) -> None:
    scripted(monkeypatch, lambda shard: events(shard, verdict="failed"))


def other_qemu(monkeypatch: Patch) -> None:
    image = {"digest": "f" * 64, "packages": {"openssl": "3.0.17", "iperf3": "3.12", "a": "1", "b": "1"}}
    scripted(monkeypatch, events, qemu="QEMU 11.1", image=image, command=["qemu", "-m", "2G"])


def other_images(monkeypatch: Patch) -> None:
    packages = {"openssl": "3.0.16", "iperf3": "3.12", "a": "2"}
    of_head(lambda head: head["manifest"].update(image={"digest": "e" * 64, "packages": packages}))(monkeypatch)
    other_qemu(monkeypatch)


def cut_short(monkeypatch: Patch) -> None:
    scripted(monkeypatch, lambda shard: events(shard)[:-1])


def real_clock(monkeypatch: Patch) -> None:
    lab = ScriptedLab()
    lab.clock = "real"
    monkeypatch.setattr(labs, "lab", lambda kind, clock: lab)
    shutil.rmtree(RUN)
    whole_run(RUN, ordered(lab, f'{PLAN}lab = {{ clock = "real" }}\n'))


def no_manifest(_: Patch) -> None:
    (RUN / MANIFEST).unlink()


def linked_manifest(_: Patch) -> None:
    (RUN / MANIFEST).rename("secret")
    (RUN / MANIFEST).symlink_to(Path.cwd() / "secret")


def linked_plan(_: Patch) -> None:
    (RUN / "plan.toml").rename("secret")
    (RUN / "plan.toml").symlink_to(Path.cwd() / "secret")


def device(_: Patch) -> None:
    Path("pipe").symlink_to("/dev/zero")


def damaged_manifest(_: Patch) -> None:
    (RUN / MANIFEST).write_text('{"lab": NaN}')


def many_facts(_: Patch) -> None:
    (RUN / MANIFEST).write_text(f"[{'[],' * 500_000}[]]")


def other_plan(_: Patch) -> None:
    (RUN / "plan.toml").write_text(PLAN.replace("count=5", "count=6"))


def bad_plan(_: Patch) -> None:
    (RUN / "plan.toml").write_text(PLAN.replace("count=5", "coutn=5"))


def other_lab(_: Patch) -> None:
    (RUN / "plan.toml").write_text(f'{PLAN}lab = {{ clock = "real" }}\n')


def other_shard(_: Patch) -> None:
    change_events(RUN, lambda event: event.get("spec", {}).update(underlay="other"))


def other_trial(_: Patch) -> None:
    def change(event: dict[str, Any]) -> None:
        if event.get("workload") == "up":
            event["workload"] = "scp"

    change_events(RUN, change)


def none_finished(_: Patch) -> None:
    def change(event: dict[str, Any]) -> None:
        if event.get("state") == "finished":
            event["state"] = "interrupted"

    change_events(RUN, change)


def one_unfinished(_: Patch) -> None:
    """Somebody changed a shard and took away its end, so that nobody executes it again."""
    change_sample(RUN)
    took_away_end(lambda told: True)
    finish(RUN, lambda _: None)


def one_never_begun(_: Patch) -> None:
    """The run was broken off before its last shard began."""
    took_away_end(lambda told: False)
    finish(RUN, lambda _: None)


def took_away_end(kept: Callable[[dict[str, Any]], bool]) -> None:
    """Takes away the end of the last shard, and all else of it that is not `kept`."""
    lines = [json.loads(line) for line in (RUN / journal.NAME).read_text().splitlines()]
    last = next(line["shard"] for line in lines if line.get("spec", {}).get("stack") == "wireguard")
    rest = [line for line in lines if line.get("shard") != last or (kept(line) and line.get("state") != "finished")]
    (RUN / journal.NAME).write_text("".join(json.dumps(line) + "\n" for line in rest))


def only_begun(monkeypatch: Patch) -> None:
    def change(event: dict[str, Any]) -> None:
        if event["event"] == "trial":
            event["event"] = "other"

    change_events(RUN, change)


def brought(monkeypatch: Patch) -> None:
    """The author brought a program, which nobody has here."""
    kind = registry.tunnel("wireguard")
    monkeypatch.setattr(kind, "about", kind.about.needing(brought=("zerotier-one",)))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(Path.cwd()))
    told = {"zerotier-one": {"version": "1.14.2", "digest": "d" * 64, "sha256": "a" * 64}}
    of_head(lambda head: head.update(files={"zerotier-one": "/home/me/zt"}) or head["manifest"].update(brought=told))(
        monkeypatch
    )


def of_version(version: Any) -> Callable[[Patch], None]:
    return of_head(lambda head: head["manifest"].update(tunbench={"version": version, "commit": "v1-2-gabcdef"}))


Case = tuple[Callable[[Patch], object], str]
CASES: dict[str, Case] = {
    "equal": (nothing, "verify run"),
    "equal-all": (nothing, "verify run.tar.bz2 --shards all"),
    "equal-one": (nothing, "verify run.tar.bz2 --shards 1 --seed 4711"),
    "equal-json": (nothing, "verify run --shards 2 --json"),
    "differs-in-a-sample": (sample_and_manifest, "verify run --shards all"),
    "differs-from-a-command-on": (other_time, "verify run --shards all"),
    "differs-in-the-verdict": (other_verdict, "verify run --shards 1"),
    "differs-json": (sample_and_manifest, "verify run --shards all --json"),
    "interrupted-here": (cut_short, "verify run --shards 2"),
    "changed-sample": (sample, "verify run"),
    "changed-sample-all": (sample, "verify run --shards all"),
    "changed-fingerprint-all": (
        lambda _: change_manifest(RUN, lambda manifest: manifest.update(fingerprint="0" * 64)),
        "verify run --shards all",
    ),
    "changed-sample-of-an-archive": (packed_sample, "verify run.tar.bz2"),
    "changed-plan-of-an-archive": (packed_plan, "verify run.tar.bz2"),
    "changed-digests": (packed_digests, "verify run.tar.bz2"),
    "changed-manifest": (
        lambda _: change_manifest(RUN, lambda manifest: manifest.update(qemu="QEMU 99")),
        "verify run",
    ),
    "changed-plan": (other_plan, "verify run"),
    "changed-lab": (other_lab, "verify run"),
    "changed-shard": (other_shard, "verify run"),
    "changed-trial": (other_trial, "verify run"),
    "bad-plan": (bad_plan, "verify run"),
    "another-qemu": (other_images, "verify run"),
    "another-qemu-medians": (other_images, "verify run --medians --shards all"),
    "another-qemu-medians-json": (other_images, "verify run --medians --shards 1 --json"),
    "another-runner": (
        of_head(
            lambda head: head["manifest"].update(runner="0" * 64, tunbench={"version": "0.1.0", "commit": "abcdef0"})
        ),
        "verify run",
    ),
    "real-clock": (real_clock, "verify run"),
    "real-clock-medians": (real_clock, "verify run --medians --shards all"),
    "no-such-run": (nothing, "verify nowhere"),
    "no-run": (lambda _: Path("empty").mkdir(), "verify empty"),
    "no-archive": (lambda _: Path("x.txt").write_text("hello"), "verify x.txt"),
    "a-device": (device, "verify pipe"),
    "no-manifest": (no_manifest, "verify run"),
    "linked-manifest": (linked_manifest, "verify run"),
    "linked-plan": (linked_plan, "verify run"),
    "damaged-manifest": (damaged_manifest, "verify run"),
    "many-facts": (many_facts, "verify run"),
    "another-journal-of-nobody": (
        of_head(lambda head: head.update(journal=99) or head["manifest"].pop("tunbench")),
        "digest run",
    ),
    "another-journal": (of_head(lambda head: head.update(journal=99)), "verify run"),
    "an-unknown-clock": (
        of_head(lambda head: head["manifest"].update(lab={"kind": "vm", "clock": "lunar"})),
        "verify run",
    ),
    "bad-overrides": (of_head(lambda head: head.update(overrides={"seed": "abc"})), "verify run"),
    "a-newer-tunbench": (of_version("99.1"), "verify run"),
    "a-newer-tunbench-with-a-command-in-it": (
        of_head(lambda head: head["manifest"].update(tunbench={"version": "99.1", "commit": "$(reboot)"})),
        "verify run",
    ),
    "no-version": (of_version(["1"]), "verify run"),
    "brought-program": (brought, "verify run --shards all"),
    "an-unfinished-shard": (one_unfinished, "verify run --shards all"),
    "an-unfinished-shard-of-a-few": (one_unfinished, "verify run"),
    "a-shard-that-never-began": (one_never_begun, "verify run --shards all"),
    "a-shard-that-never-began-json": (one_never_begun, "verify run --shards all --json"),
    "a-shard-that-never-began-medians": (one_never_begun, "verify run --medians"),
    "no-finished-shard": (none_finished, "verify run"),
    "escaping-archive": (escape, "verify run.tar.bz2"),
    "no-number-of-shards": (nothing, "verify run --shards few"),
    "no-shards": (nothing, "verify run --shards 0"),
    "out-is-the-run": (nothing, "verify run --out run"),
    "pack": (nothing, "pack run other.tar.bz2"),
    "pack-another-name": (nothing, "pack run run.zip"),
    "pack-into-no-folder": (nothing, "pack run nowhere/run.tar.bz2"),
    "pack-into-a-folder": (lambda _: Path("x.tar.bz2").mkdir(), "pack run x.tar.bz2"),
    "pack-no-run": (nothing, "pack nowhere run.tar.bz2"),
    "pack-an-unfinished-shard": (one_unfinished, "pack run run.tar.bz2"),
    "pack-a-shard-that-never-began": (one_never_begun, "pack run run.tar.bz2"),
    "pack-changed-sample": (sample, "pack run run.tar.bz2"),
    "pack-changed-plan": (other_plan, "pack run run.tar.bz2"),
    "pack-bad-plan": (bad_plan, "pack run run.tar.bz2"),
    "pack-nothing": (only_begun, "pack run run.tar.bz2"),
    "run-pack-another-name": (nothing, "run plan.toml --pack run.zip"),
}


def printed(case: str, here: Path, monkeypatch: Patch) -> str:
    """The command, its exit code, and what it printed, less what is another one each time."""
    prepare, command = CASES[case]
    commit = json.loads((RUN / MANIFEST).read_text())["tunbench"]["commit"]
    prepare(monkeypatch)
    result = invoke(*shlex.split(command))
    text = "\n".join(line.rstrip() for line in (result.stdout + result.stderr).splitlines())
    text = re.sub(r"in \d+ s(, about .* left)?$", "in N s", text.replace(str(here), "HERE"), flags=re.MULTILINE)
    text = text.replace(f"(commit {commit})", "(commit COMMIT)")
    text = re.sub(r"journal, [0-9a-f]{12}…", "journal, FINGERPRINT…", text)
    text = re.sub(r"manifest\.json, [0-9a-f]{12}…", "manifest.json, FINGERPRINT…", text)
    text = re.sub(r'"shard": "[0-9a-f]{12}"', '"shard": "ID"', text)
    return f"$ tunbench {command}  # exit code {result.exit_code}\n{text}\n"


@pytest.mark.parametrize("case", CASES)
def test_what_is_printed(case: str, here: Path, monkeypatch: Patch) -> None:
    text = printed(case, here, monkeypatch)
    file = GOLDEN / f"{case}.txt"
    if os.environ.get("TUNBENCH_UPDATE_GOLDEN"):
        GOLDEN.mkdir(exist_ok=True)
        file.write_text(text)
    assert text == file.read_text()
    assert list(Path("tmp").iterdir()) == [], "nothing is left behind"


def test_the_folder_is_looked_at_before_anything_is_built(monkeypatch: Patch) -> None:
    monkeypatch.setattr(provide, "lacking", lambda order: pytest.fail("it is built first"))
    result = invoke("verify", "run", "--out", "run")
    assert (result.exit_code, "run is another run" in result.stderr) == (2, True)


def test_every_golden_output_has_its_case() -> None:
    assert {path.stem for path in GOLDEN.iterdir()} == set(CASES)


def test_a_brought_program_is_taken_from_the_user_and_must_be_the_same(here: Path, monkeypatch: Patch) -> None:
    brought(monkeypatch)
    mine = program(here / "zt")
    result = invoke("verify", "run", "--tool", f"zerotier-one={mine}", "--shards", "all")
    assert result.exit_code == 2
    assert f"tunbench verify run --tool zerotier-one={mine} --medians" in result.stderr.replace("\n", "")


def test_a_command_that_is_told_has_what_was_given(monkeypatch: Patch) -> None:
    real_clock(monkeypatch)
    result = invoke("verify", "run", "--tool", "zerotier-one=my zt", "--tool", "tailscale=ts")
    assert "with: tunbench verify run --tool 'zerotier-one=my zt' --tool tailscale=ts --medians" in result.stderr


def test_what_is_executed_here_is_kept_where_that_is_wanted() -> None:
    assert invoke("verify", "run", "--shards", "2", "--out", "again").exit_code == 0
    assert invoke("compare", "run", "again").exit_code == 0


def test_another_seed_chooses_others_and_the_same_one_the_same() -> None:
    chosen = [
        json.loads(invoke("verify", "run", "--shards", "2", "--seed", str(seed), "--json").stdout)["shards"]
        for seed in (1, 1, 2, 3, 4)
    ]
    assert chosen[0] == chosen[1]
    assert len({tuple(one) for one in chosen}) > 1


def test_a_run_packs_itself(monkeypatch: Patch) -> None:
    result = invoke("run", "plan.toml", "--out", "new", "--pack", "new.tar.bz2")
    assert (result.exit_code, result.stderr.splitlines()[-1]) == (0, "packed       new.tar.bz2")
    before = Path("new.tar.bz2").read_bytes()
    assert invoke("pack", "new", "new.tar.bz2").exit_code == 0
    assert Path("new.tar.bz2").read_bytes() == before
    assert invoke("run", "--resume", "new", "--pack", "again.tar.bz2").exit_code == 0
    assert Path("again.tar.bz2").read_bytes() == before


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("command", ["pack run new.tar.bz2", "lab build --as run.tar.bz2"])
def test_whatever_ends_a_command_leaves_nothing_behind(command: str, sent: signal.Signals, monkeypatch: Patch) -> None:
    before = {path.name for path in Path.cwd().iterdir()}

    def end(*_: Any) -> None:
        # Without the command's own, the signal would end the test.
        assert signal.getsignal(sent) not in (signal.SIG_DFL, signal.SIG_IGN)
        os.kill(os.getpid(), sent)

    monkeypatch.setattr(files_of_archive, "_header", end)
    monkeypatch.setattr(listed, "images", end)
    result = invoke(*command.split())
    assert (result.exit_code, result.stderr.splitlines()[-1]) == (130, "Interrupted; begin again")
    assert list(Path("tmp").iterdir()) == []
    assert {path.name for path in Path.cwd().iterdir()} == before


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGHUP])
def test_ctrl_c_leaves_nothing_behind(monkeypatch: Patch, sent: signal.Signals) -> None:
    def begin(shard: Shard) -> FakeExecution:
        os.kill(os.getpid(), sent)
        return FakeExecution([], hangs=True)

    monkeypatch.setattr(labs, "lab", lambda kind, clock: ScriptedLab(begin))
    result = invoke("verify", "run.tar.bz2")
    assert (result.exit_code, result.stderr.splitlines()[-1]) == (130, "Interrupted; begin again")
    assert list(Path("tmp").iterdir()) == []
