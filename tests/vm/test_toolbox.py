"""The toolbox, with real packages: what is installed starts in the VM, and two builds are equal."""

import shutil
from pathlib import Path

import pytest

from tests.helpers.measuring import execute, plan, verdicts
from tunbench.labs import image
from tunbench.labs.vm import explore
from tunbench.toolbox import brought_programs, build_requirements, install, tools
from tunbench.toolbox.tools import TOOLS

pytestmark = pytest.mark.vm


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A cache of tools that is empty, beside that of the images."""
    for module in (tools, install, brought_programs):
        monkeypatch.setattr(module, "tools_folder", lambda: tmp_path / "tools")
    return tmp_path / "tools"


@pytest.mark.long
def test_a_tool_is_built_starts_in_the_vm_and_is_the_same_when_built_again(folder: Path, tmp_path: Path) -> None:
    one = TOOLS["wesher"]
    assert build_requirements.missing([one]) == [], "make test-all needs what builds a tool"
    digests = []
    for _ in range(2):
        install.install(one, lambda _: None)
        digests.append(image.check(one)["digest"])
        assert [path.name for path in folder.iterdir()] == [one.folder.name]
    assert len(set(digests)) == 1
    assert image.check(one)["source"]["h1"].startswith("h1:")
    script = tmp_path / "script"
    script.write_text("command -v wesher; wesher --version\n")
    assert explore.script(script, 1, "virtual", [one]) == ("/usr/local/bin/wesher\n0.2.6\n", 0)


def test_a_brought_program_runs_in_the_vm_with_its_libraries(folder: Path, tmp_path: Path) -> None:
    # It is linked with libraries that the base image does not have.
    file = shutil.which("tshark")
    assert file
    one = brought_programs.packed_program("it", file)
    assert image.check(one)["libraries"]
    script = tmp_path / "script"
    script.write_text("command -v it; it --version 2>/dev/null | head -n 1\n")
    printed, status = explore.script(script, 1, "virtual", [one])
    assert status == 0
    # Before all that an image has of that name.
    assert printed.startswith("/usr/sbin/it\nTShark (Wireshark)")


def test_a_stack_without_its_tool_is_unsupported_and_says_how_it_is_installed(folder: Path, tmp_path: Path) -> None:
    record = execute(tmp_path / "run", plan(["headscale"], '["baseline"]', ["ping:count=3"]))
    mend = "install it with: tunbench toolbox install headscale"
    assert set(verdicts(record).values()) == {("unsupported", f"the program headscale is not installed; {mend}")}
    assert record.manifest["tools"] == {}
