"""The exact message for each mistake with a command other than in a plan: `tests/golden/cli/CASE.txt`.

After a change that is meant: TUNBENCH_UPDATE_GOLDEN=1 pytest tests/unit/cli/test_errors.py && git diff tests/golden
"""

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.helpers.packed_runs import whole_run
from tests.helpers.plugins import PROBE, made
from tests.helpers.runs import VM_LAB, ScriptedLab, invoke, ordered, real_lab, runs_here
from tunbench.executors.cluster import connection
from tunbench.labs import registry as labs
from tunbench.labs.vm import image_build
from tunbench.labs.vm.image_definition import BASE
from tunbench.run import execution
from tunbench.toolbox import build_requirements

GOLDEN = Path(__file__).parents[2] / "golden" / "cli"


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A folder with a plan, a cache without images, and a scripted lab."""
    return runs_here(monkeypatch, tmp_path)


def another_run(_: pytest.MonkeyPatch) -> None:
    execution.create(Path("begun"), ordered())


def not_empty(_: pytest.MonkeyPatch) -> None:
    Path("begun").mkdir()
    Path("begun", "thesis.tex").touch()


def damaged_image(monkeypatch: pytest.MonkeyPatch) -> None:
    real_lab(monkeypatch)
    BASE.folder.mkdir(parents=True)
    (BASE.folder / "vmlinux").write_bytes(b"kernel")
    image_build.write_manifest_of(BASE, BASE.folder, {})
    (BASE.folder / "vmlinux").write_bytes(b"karnel")


def cache_is_a_file(_: pytest.MonkeyPatch) -> None:
    BASE.folder.parents[2].mkdir()
    BASE.folder.parents[1].touch()


def no_qemu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(labs, "lab", VM_LAB)
    Path("git").write_text("#!/bin/sh\nexit 1\n")
    Path("git").chmod(0o755)
    monkeypatch.setenv("PATH", str(Path.cwd()))


def no_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(labs, "lab", VM_LAB)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)


def damaged_journal(monkeypatch: pytest.MonkeyPatch) -> None:
    another_run(monkeypatch)
    with Path("begun", "journal.jsonl").open("a") as file:
        file.write('{"event":"shard"\n{"event":"shard"}\n')


def another_image(monkeypatch: pytest.MonkeyPatch) -> None:
    lab = ScriptedLab()
    lab.facts["image"] = {"digest": "old", "packages": {}}
    execution.create(Path("begun"), ordered(lab))


def built_image(monkeypatch: pytest.MonkeyPatch) -> None:
    real_lab(monkeypatch)
    BASE.folder.mkdir(parents=True)
    image_build.write_manifest_of(BASE, BASE.folder, {})


def whole_lab(monkeypatch: pytest.MonkeyPatch) -> Path:
    """The base image, and where templates will be."""
    real_lab(monkeypatch)
    BASE.folder.mkdir(parents=True)
    for name in ("image.squashfs", "boot.cpio"):
        (BASE.folder / name).write_bytes(b"base")
    image_build.write_manifest_of(BASE, BASE.folder, {})
    return BASE.folder.parents[1] / "templates"


def no_place_for_templates(monkeypatch: pytest.MonkeyPatch) -> None:
    whole_lab(monkeypatch).touch()


def no_room_for_templates(monkeypatch: pytest.MonkeyPatch) -> None:
    whole_lab(monkeypatch)
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: SimpleNamespace(free=100 << 20))


def open_templates(monkeypatch: pytest.MonkeyPatch) -> None:
    folder = whole_lab(monkeypatch)
    folder.mkdir()
    folder.chmod(0o777)


def another_start(_: pytest.MonkeyPatch) -> None:
    lab = ScriptedLab()
    lab.facts["start"] = "fresh boot"
    execution.create(Path("begun"), ordered(lab))


def no_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(Path.cwd()))


def theirs(**facts: Any) -> Callable[[pytest.MonkeyPatch], None]:
    """A run of somebody else, whose manifest says this."""

    def prepare(monkeypatch: pytest.MonkeyPatch) -> None:
        lab = ScriptedLab()
        lab.facts |= {"tunbench": {"version": "0.1.0", "commit": "abcdef0"}, **facts}
        whole_run(Path("theirs"), ordered(lab))
        monkeypatch.setattr(build_requirements, "version", lambda argv: "1.26.1")

    return prepare


def images(changed: dict[str, Any] | None = None, without: str = "", **facts: Any) -> Callable[..., None]:
    """The same with an image like ours, but for some packages."""
    packages = dict.fromkeys(BASE.packages, "1.0") | (changed or {})
    packages.pop(without, None)
    return theirs(image={"digest": "a" * 64, "packages": packages}, **facts)


def tools(name: str = "headscale", **told: Any) -> Callable[..., None]:
    """The same with a tool."""
    return theirs(tools={name: {"version": "0.28.0", "digest": "a" * 64, **told}})


def native_run(monkeypatch: pytest.MonkeyPatch) -> None:
    lab = ScriptedLab()
    del lab.facts["image"]
    whole_run(Path("theirs"), ordered(lab))


AS = ["lab", "build", "--as", "theirs"]
TOOLS_AS = ["toolbox", "install", "--as", "theirs"]


def no_dask(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)


def nobody_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "ANSWER_SECONDS", 0.2)


def two_labs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(labs, "lab", VM_LAB)


def a_plugin(_: pytest.MonkeyPatch) -> None:
    made(Path("mine"), {"probes/my_look.py": PROBE})


def on_dask(where: str, *more: str) -> list[str]:
    return ["run", "plan.toml", "--out", "begun", "--executor", f"dask={where}", *more]


def nothing(_: pytest.MonkeyPatch) -> None:
    pass


Case = tuple[Callable[[pytest.MonkeyPatch], None], list[str]]
MISTAKES: dict[str, Case] = {
    "out-is-another-run": (another_run, ["run", "plan.toml", "--out", "begun"]),
    "out-is-not-empty": (not_empty, ["run", "plan.toml", "--out", "begun"]),
    "out-is-not-writable": (nothing, ["run", "plan.toml", "--out", "/dev/null/run"]),
    "image-not-built": (real_lab, ["run", "plan.toml", "--out", "begun"]),
    "image-damaged": (damaged_image, ["run", "plan.toml", "--out", "begun"]),
    "qemu-not-installed": (no_qemu, ["run", "plan.toml", "--out", "begun"]),
    "templates-not-writable": (no_place_for_templates, ["run", "plan.toml", "--out", "begun"]),
    "templates-no-room": (no_room_for_templates, ["run", "plan.toml", "--out", "begun"]),
    "templates-open-to-others": (open_templates, ["run", "plan.toml", "--out", "begun"]),
    "native-without-root": (no_root, ["run", "plan.toml", "--lab", "native"]),
    "executor-unknown": (nothing, ["run", "plan.toml", "--executor", "slurm"]),
    "executor-without-address": (nothing, on_dask("")),
    "executor-without-port": (nothing, on_dask("tcp://10.0.0.1")),
    "executor-of-no-workers": (nothing, on_dask("local:0")),
    "executor-and-workers": (nothing, on_dask("local:2", "--workers", "2")),
    "executor-not-installed": (no_dask, on_dask("local:2")),
    "executor-no-answer": (nobody_answers, on_dask("tcp://127.0.0.1:9")),
    "executor-no-certificates": (nothing, on_dask("tls://127.0.0.1:9")),
    "executor-native-lab": (two_labs, on_dask("local:2", "--lab", "native")),
    "executor-real-clock": (two_labs, on_dask("local:2", "--clock", "real")),
    "executor-plugin": (a_plugin, on_dask("local:2", "--plugin", "mine")),
    "doctor-executor-no-image": (nothing, ["doctor", "--executor", "dask=local:2"]),
    "doctor-executor-unknown": (nothing, ["doctor", "--executor", "dask=local:many"]),
    "no-plan": (nothing, ["run"]),
    "no-such-plan": (nothing, ["run", "plam.toml"]),
    "plan-as-json-and-text": (nothing, ["plan", "show", "quick", "--json", "--text"]),
    "tunnels-as-json-and-page": (nothing, ["list", "tunnels", "--json", "--markdown"]),
    "tunnels-named-and-page": (nothing, ["list", "tunnels", "ipsec", "--markdown"]),
    "resume-no-run": (nothing, ["run", "--resume", "begun"]),
    "resume-with-plan": (another_run, ["run", "plan.toml", "--resume", "begun"]),
    "resume-with-seed": (another_run, ["run", "--seed", "3", "--resume", "begun"]),
    "resume-another-image": (another_image, ["run", "--resume", "begun"]),
    "resume-another-start": (another_start, ["run", "--resume", "begun"]),
    "resume-damaged-journal": (damaged_journal, ["run", "--resume", "begun"]),
    "digest-no-run": (nothing, ["digest", "begun"]),
    "report-no-run": (nothing, ["report", "begun"]),
    "samples-no-run": (nothing, ["samples", "begun"]),
    "lab-info-not-built": (nothing, ["lab", "info"]),
    "lab-info-damaged": (damaged_image, ["lab", "info"]),
    "lab-shell-not-built": (nothing, ["lab", "shell"]),
    "lab-build-unknown": (nothing, ["lab", "build", "bass"]),
    "lab-build-as-no-run": (nothing, AS),
    "lab-build-as-of-a-native-run": (native_run, AS),
    "lab-build-as-without-packages": (theirs(), AS),
    "lab-build-as-lacks-a-package": (images(without="iperf3"), AS),
    "lab-build-as-no-package": (images({"-oDPkg::Pre-Invoke::=reboot": "1"}), AS),
    "lab-build-as-no-version": (images({"openssl": "1.0 ./evil.deb"}), AS),
    "lab-build-as-unknown-image": (images(addons={"../x": {}}), AS),
    "lab-build-as-not-of-the-run": (images(), [*AS, "libreswan"]),
    "toolbox-install-as-no-run": (nothing, TOOLS_AS),
    "toolbox-install-as-and-all": (nothing, [*TOOLS_AS, "--all"]),
    "toolbox-install-as-no-tools": (theirs(), TOOLS_AS),
    "toolbox-install-as-not-of-the-run": (tools(), [*TOOLS_AS, "nebula"]),
    "toolbox-install-as-unknown": (tools("../evil"), TOOLS_AS),
    "toolbox-install-as-without-digest": (tools(digest=["x"]), TOOLS_AS),
    "toolbox-install-as-another-version": (tools(version="0.25.0"), TOOLS_AS),
    "toolbox-install-as-another-go": (tools(built={"go": "1.25.7"}), TOOLS_AS),
    "lab-shell-no-terminal": (built_image, ["lab", "shell", "--plan", "plan.toml", "--stack", "wireguard"]),
    "lab-shell-no-such-stack": (built_image, ["lab", "shell", "--plan", "plan.toml", "--stack", "gre*"]),
    "lab-shell-stack-of-no-plan": (built_image, ["lab", "shell", "--stack", "wireguard"]),
    "lab-shell-plan-and-with": (built_image, ["lab", "shell", "--plan", "quick", "--with", "headscale"]),
    "lab-shell-no-script": (built_image, ["lab", "shell", "--script", "nowhere.sh"]),
    "lab-shell-script-of-no-name": (built_image, ["lab", "shell", "--script", ""]),
    "lab-shell-seed-of-no-script": (built_image, ["lab", "shell", "--seed", "5"]),
    "lab-clean-cache-is-a-file": (cache_is_a_file, ["lab", "clean"]),
    "lab-shell-no-such-image": (built_image, ["lab", "shell", "--with", "headscal"]),
    "lab-shell-tool-not-installed": (built_image, ["lab", "shell", "--with", "headscale"]),
    "resume-with-tool": (another_run, ["run", "--tool", "zerotier-one=FILE", "--resume", "begun"]),
    "tool-without-file": (nothing, ["run", "plan.toml", "--tool", "zerotier-one"]),
    "toolbox-install-bare-machine": (no_programs, ["toolbox", "install", "headscale", "easytier"]),
    "toolbox-install-no-name": (nothing, ["toolbox", "install"]),
    "toolbox-install-name-and-all": (nothing, ["toolbox", "install", "nebula", "--all"]),
    "toolbox-install-unknown": (nothing, ["toolbox", "install", "headscal"]),
    "toolbox-install-brought": (nothing, ["toolbox", "install", "zerotier-one"]),
    "plan-without-a-name": (nothing, ["plan", "check", ""]),
    "run-without-a-name": (nothing, ["digest", ""]),
    "out-without-a-name": (nothing, ["run", "quick", "--out", ""]),
    "export-without-a-name": (nothing, ["report", "runs/a", "--export", ""]),
    "lab-build-as-without-a-name": (nothing, ["lab", "build", "--as", ""]),
    "toolbox-install-as-without-a-name": (nothing, ["toolbox", "install", "--as", ""]),
    "toolbox-remove-no-name": (nothing, ["toolbox", "remove"]),
    "toolbox-remove-unknown": (nothing, ["toolbox", "remove", "x"]),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_a_mistake_is_one_message_and_exit_code_2(case: str, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prepare, arguments = MISTAKES[case]
    prepare(monkeypatch)
    result = invoke(*arguments)
    message = result.stderr.replace(str(here), "HERE").replace(BASE.digest[:12], "DIGEST")
    file = GOLDEN / f"{case}.txt"
    if os.environ.get("TUNBENCH_UPDATE_GOLDEN"):
        GOLDEN.mkdir(exist_ok=True)
        file.write_text(message)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message == file.read_text()


def test_every_golden_message_has_its_case() -> None:
    assert {path.stem for path in GOLDEN.iterdir()} == set(MISTAKES)


def test_nothing_is_made_by_a_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    damaged_image(monkeypatch)
    invoke("run", "plan.toml", "--out", "begun")
    assert not Path("begun").exists()
