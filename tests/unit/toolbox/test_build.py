"""How tools are built, without building: the commands of each stand in `tests/golden/toolbox/NAME.txt`.

After a change that is meant: TUNBENCH_UPDATE_GOLDEN=1 pytest tests/unit/toolbox/test_build.py && git diff tests/golden
"""

import json
import os
import shutil
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.toolboxes import FakeRun, no_libraries
from tunbench.labs import image, replaced_folder
from tunbench.labs.vm import image_build
from tunbench.toolbox import install, pack, unfinished
from tunbench.toolbox.command import Done, ToolError
from tunbench.toolbox.tools import TOOLS, Tool, tools_folder

GOLDEN = Path(__file__).parents[2] / "golden" / "toolbox"


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A cache and a user without anything, on a machine of four cores, whose compressor keeps the tar archive."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("CARGO_HOME", str(tmp_path / "cargo"))
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    monkeypatch.setattr(image_build, "compress", lambda tree, target: shutil.copyfile(tree, target))
    no_libraries(monkeypatch)
    return tmp_path


@pytest.mark.parametrize("name", TOOLS)
def test_the_commands_that_build_it(name: str, home: Path) -> None:
    run = FakeRun(home)
    install.install(TOOLS[name], lambda _: None, run)
    text = run.transcript
    if os.environ.get("TUNBENCH_UPDATE_GOLDEN"):
        GOLDEN.mkdir(exist_ok=True)
        (GOLDEN / f"{name}.txt").write_text(text)
    assert text == (GOLDEN / f"{name}.txt").read_text()


def test_every_golden_file_has_its_tool() -> None:
    assert {path.stem for path in GOLDEN.iterdir()} == set(TOOLS)


def test_what_is_installed_has_programs_an_image_and_where_they_come_from(home: Path) -> None:
    one = TOOLS["nebula"]
    assert not one.installed
    install.install(one, lambda _: None, FakeRun(home))
    assert one.installed
    assert sorted(path.name for path in one.folder.iterdir()) == ["bin", "image.squashfs", "manifest.json"]
    for program in one.programs:
        assert os.access(one.folder / "bin" / program, os.X_OK)
        assert (one.folder / "bin" / program).read_text() == f"{program} of github.com/slackhq/nebula\n"
    manifest = image.check(one)
    assert (manifest["name"], manifest["version"]) == ("nebula", "1.10.3")
    assert manifest["source"] == {"module": "github.com/slackhq/nebula", "version": "v1.10.3", "h1": "h1:abc="}
    assert set(manifest["files"]) == {"bin/nebula-1.10", "bin/nebula-cert-1.10", "image.squashfs"}
    assert [path.name for path in tools_folder().iterdir()] == [one.folder.name], "nothing of the build is left"


def test_a_crate_has_the_checksum_of_its_archive(home: Path) -> None:
    install.install(TOOLS["innernet"], lambda _: None, FakeRun(home))
    source = image.check(TOOLS["innernet"])["source"]
    assert set(source["sha256"]) == {"innernet", "innernet-server"}
    assert all(len(digest) == 64 for digest in source["sha256"].values())


def test_the_image_has_the_programs_where_the_vm_looks_for_them(home: Path) -> None:
    one = TOOLS["tailscale"]
    install.install(one, lambda _: None, FakeRun(home))
    with tarfile.open(one.folder / "image.squashfs") as tar:
        members = {member.name: member for member in tar}
    assert list(members) == sorted(members)
    assert [name for name, member in members.items() if member.isdir()] == ["usr", "usr/local", "usr/local/bin"]
    assert {Path(name).name for name, member in members.items() if member.isfile()} == set(one.programs)
    assert {(member.mode, member.uid, member.mtime) for member in members.values()} == {(0o755, 0, 1_767_225_600)}


def test_equal_programs_make_equal_images(home: Path) -> None:
    one = TOOLS["wesher"]
    digests = set()
    for _ in range(2):
        install.install(one, lambda _: None, FakeRun(home))
        digests.add(image.check(one)["digest"])
    assert len(digests) == 1
    before = (one.folder / "manifest.json").read_bytes()
    shutil.rmtree(one.folder)
    install.install(one, lambda _: None, FakeRun(home))
    assert (one.folder / "manifest.json").read_bytes() == before


class Failing(FakeRun):
    """Fails at the first command that has this word."""

    def __init__(self, home: Path, word: str, done: Done) -> None:
        super().__init__(home)
        self.word, self.done = word, done

    def __call__(self, argv: Sequence[str], folder: Path, environment: Mapping[str, str], progress: object) -> Done:
        return self.done if self.word in argv else super().__call__(argv, folder, environment, progress)


NO_VERSION = json.dumps({"Error": "github.com/slackhq/nebula@v1.10.3: not found"})


@pytest.mark.parametrize(
    ("name", "word", "done", "message"),
    [
        ("nebula", "download", Done(1, NO_VERSION, ""), "slackhq/nebula cannot be fetched: .*@v1.10.3: not found"),
        ("nebula", "download", Done(1, "", "go: no network\n"), "nebula cannot be fetched: go: no network"),
        ("nebula", "download", Done(0, '{"Path": "x"}', ""), "nebula cannot be fetched: "),
        ("nebula", "build", Done(2, "", "a.go:3: wrong\n"), "go build -v ended with status 2:\na.go:3: wrong"),
        (
            "vpncloud",
            "install",
            Done(101, "", "error: no such crate\n"),
            "cargo install --locked ended with status 101",
        ),
    ],
)
def test_a_build_that_fails_says_why_and_leaves_nothing(
    name: str, word: str, done: Done, message: str, home: Path
) -> None:
    with pytest.raises(ToolError, match=message):
        install.install(TOOLS[name], lambda _: None, Failing(home, word, done))
    assert list(tools_folder().iterdir()) == []


def test_a_build_that_is_broken_off_keeps_what_was_there(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = TOOLS["vpncloud"]
    install.install(one, lambda _: None, FakeRun(home))
    before = (one.folder / "manifest.json").read_bytes()

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(pack, "_archive", interrupted)
    with pytest.raises(KeyboardInterrupt):
        install.install(one, lambda _: None, FakeRun(home))
    assert (one.folder / "manifest.json").read_bytes() == before
    kept = [path.name for path in tools_folder().iterdir() if not path.name.startswith(unfinished.UNFINISHED)]
    assert kept == [one.folder.name]


def test_what_a_killed_build_left_is_swept_away_and_a_living_one_is_not(home: Path) -> None:
    folder = tools_folder()
    dead, alive = folder / f"{replaced_folder.BUILDING}4194305-x", folder / f"{replaced_folder.BUILDING}{os.getpid()}-x"
    for path in (dead, alive):
        path.mkdir(parents=True)
    install.install(TOOLS["wesher"], lambda _: None, FakeRun(home))
    assert not dead.exists()
    assert alive.exists()


def test_removing_a_tool_removes_what_was_left_of_building_it(home: Path) -> None:
    one = TOOLS["wesher"]
    install.install(one, lambda _: None, FakeRun(home))
    left = leftovers(one)
    assert install.remove(one)
    assert not any(path.exists() for path in left)
    assert list(tools_folder().iterdir()) == []


def leftovers(tool: Tool) -> list[Path]:
    """What a build leaves that is killed as it cleans up."""
    dead = tools_folder() / f"{replaced_folder.BUILDING}4194305-x"
    kept = unfinished.folder_of(tool, "go1.25")
    for path in (dead, kept):
        path.mkdir()
    return [dead, kept]


def test_removing_says_whether_it_was_there(home: Path) -> None:
    one = TOOLS["wesher"]
    assert not install.remove(one)
    install.install(one, lambda _: None, FakeRun(home))
    assert install.size(one) > 0
    assert install.remove(one)
    assert not one.installed
    assert install.size(one) == 0


@pytest.mark.parametrize("name", ["nebula", "netbird", "innernet"])
def test_a_build_that_was_broken_off_goes_on_with_the_next_program(name: str, home: Path) -> None:
    one, first, rest = TOOLS[name], FakeRun(home), FakeRun(home)

    def one_build(argv: Sequence[str], *others: Any) -> Done:
        if first.built:
            raise KeyboardInterrupt
        return first(argv, *others)

    with pytest.raises(KeyboardInterrupt):
        install.install(one, lambda _: None, one_build)
    assert not one.installed
    install.install(one, lambda _: None, rest)
    assert rest.built and not set(first.built) & set(rest.built)
    assert sorted(path.name for path in (one.folder / "bin").iterdir()) == sorted(one.programs)
    assert [path.name for path in tools_folder().iterdir()] == [one.folder.name], "nothing waits any more"


def test_examples_of_a_crate_are_programs_of_other_names(home: Path) -> None:
    run = FakeRun(home)
    install.install(TOOLS["quinn"], lambda _: None, run)
    names = {path.name for path in (TOOLS["quinn"].folder / "bin").iterdir()}
    assert names == {"quinn-client", "quinn-server"}
    assert run.built == ["quinn"], "both come of one build"
