"""What is said of a plug-in that cannot be used: one message, exit code 2, and nothing has begun.

The messages are `tests/golden/plugins/CASE.txt`: TUNBENCH_UPDATE_GOLDEN=1 writes them anew.
"""

import errno
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.helpers.plugins import PROBE, TUNNEL, WORKLOAD, made
from tests.helpers.runs import invoke, runs_here
from tunbench.cli import app

GOLDEN = Path(__file__).parents[2] / "golden" / "plugins"

Made = Callable[[Path], list[str]]


def tunnel(old: str, new: str) -> Made:
    """A plug-in whose tunnel has a mistake."""
    assert old in TUNNEL
    return files({"tunnels/mine.py": TUNNEL.replace(old, new)})


def workload(old: str, new: str) -> Made:
    """A plug-in whose workload has a mistake."""
    assert old in WORKLOAD
    return files({"workloads/my_wait.py": WORKLOAD.replace(old, new)})


def files(those: dict[str, str]) -> Made:
    """A plug-in of these files."""
    return lambda here: [str(made(here / "mine", those))]


def two(first: dict[str, str], second: dict[str, str], name: str = "b") -> Made:
    """Two plug-ins of these files."""
    return lambda here: [str(made(here / "one" / "a", first)), str(made(here / "two" / name, second))]


def linked(here: Path) -> list[str]:
    folder = made(here / "mine")
    (here / "elsewhere.py").write_text(TUNNEL)
    (folder / "tunnels" / "theirs.py").symlink_to("../../elsewhere.py")
    return [str(folder)]


def linked_folder(here: Path) -> list[str]:
    made(here / "elsewhere")
    (here / "mine").mkdir()
    (here / "mine" / "tunnels").symlink_to("../elsewhere/tunnels")
    return [str(here / "mine")]


def pipe(here: Path) -> list[str]:
    folder = made(here / "mine")
    os.mkfifo(folder / "tunnels" / "pipe.py")
    return [str(folder)]


def huge(here: Path) -> list[str]:
    folder = made(here / "mine")
    os.truncate(folder / "tunnels" / "mine.py", 1 << 42)
    return [str(folder)]


def loop(here: Path) -> list[str]:
    (here / "mine").symlink_to("mine")
    return [str(here / "mine")]


LATIN = f"# coding: latin-1\n{TUNNEL}".replace('name="mine",', 'name="yours",  # gr\xfc\xdfe').encode("latin-1")
"""A tunnel that is not called as its file is, in another encoding."""


CASES: dict[str, Made] = {
    "no-such-folder": lambda here: [str(here / "nowhere")],
    "a-file": lambda here: [str(made(here, {"mine.py": TUNNEL}) / "mine.py")],
    "nothing-in-it": files({"mine.py": TUNNEL}),
    "does-not-import": files({"tunnels/mine.py": "import os\nimport nowhere\n"}),
    "is-not-python": files({"tunnels/mine.py": "a = 1\nb = (\n"}),
    "is-not-text": lambda here: [str(_bytes(made(here / "mine"), b"\xff\xfe\x00"))],
    "ends-the-program": files({"tunnels/mine.py": "import sys\n\nsys.exit(3)\n"}),
    "no-tunnel-in-it": files({"tunnels/mine.py": "class Mine:\n    pass\n"}),
    "declares-nothing": tunnel("    about = About(", "    other = About("),
    "lacks-a-field": tunnel('        evidence="ip proto 47",\n', ""),
    "another-name": tunnel('name="mine"', 'name="yours"'),
    "no-such-layer": tunnel("layer=3", 'layer="3"'),
    "header-of-no-bytes": tunnel("headers=(GRE,)", 'headers=(GRE._replace(size="4"),)'),
    "header-too-large": tunnel("headers=(GRE,)", "headers=(GRE._replace(size=4000),)"),
    "header-without-source": tunnel("headers=(GRE,)", 'headers=(GRE._replace(source=""),)'),
    "evidence-of-no-option": tunnel('"ip proto 47"', '"udp port {port}"'),
    "default-out-of-range": tunnel(
        "options={}", 'options={"n": __import__("tunbench").runner.declare.options.Option("count", "x", "n")}'
    ),
    "workload-without-parse": workload("def parse", "def read_it"),
    "workload-of-another-check": workload("def parse", "def check(options):\n    pass\n\n\ndef parse"),
    "workload-without-metrics": workload('{"waited": Metric("s", "seconds that it waited")}', "{}"),
    "workload-of-no-unit": workload('Metric("s"', 'Metric("ms"'),
    "workload-means-another-loss": workload('"waited": Metric("s"', '"loss": Metric("ratio"'),
    "probe-has-a-workloads-metric": files({"probes/my_look.py": PROBE.replace('"looked"', '"loss"')}),
    "probe-has-a-counted-metric": files({"probes/my_look.py": PROBE.replace('"looked"', '"socket-drops"')}),
    "workload-has-a-counted-metric": workload('"waited": Metric("s"', '"layer-drops": Metric("count"'),
    "addon-of-another": tunnel("options={}", 'options={}, sources=Sources(addons=(Addon("libreswan", ("cowsay",)),))'),
    "shipped-name": files({"tunnels/wireguard.py": TUNNEL}),
    "same-tunnel": two({"tunnels/mine.py": TUNNEL}, {"tunnels/mine.py": TUNNEL}),
    "same-name": two({"tunnels/mine.py": TUNNEL}, {"workloads/my_wait.py": WORKLOAD}, name="a"),
    "a-hyphen": files({"tunnels/my-tunnel.py": TUNNEL}),
    "shared": files({"tunnels/shared/mine.py": TUNNEL}),
    "link-out-of-it": linked,
    "folder-is-a-link": linked_folder,
    "a-pipe": pipe,
    "too-large": files({"tunnels/mine.py": TUNNEL, "tunnels/numbers.py": "x" * (1 << 20)}),
    "too-large-to-be-read": huge,
    "compiled-alone": files({"tunnels/mine.py": TUNNEL, "tunnels/theirs.pyc": ""}),
    "a-library-beside-it": files({"tunnels/mine.py": TUNNEL, "tunnels/mine.cpython-311-x86_64-linux-gnu.so": ""}),
    "among-the-shipped": files({"tunnels/mine.py": TUNNEL, "tunnels/openvpn/packets.py": "raise SystemExit"}),
    "file-and-folder": files({"tunnels/mine.py": TUNNEL, "tunnels/mine/__init__.py": ""}),
    "a-folder-with-a-hyphen": files({"tunnels/my-tunnel/__init__.py": TUNNEL}),
    "leads-to-itself": loop,
    "path-too-long": lambda here: [str(here / ("x" * 300))],
    "in-another-encoding": lambda here: [str(_bytes(made(here / "mine"), LATIN))],
    "a-name-for-no-manifest": lambda here: [str(made(here / "my tunnel"))],
}


def _bytes(folder: Path, content: bytes) -> Path:
    (folder / "tunnels" / "mine.py").write_bytes(content)
    return folder


@pytest.mark.parametrize("case", CASES)
def test_it_is_one_message_and_nothing_has_begun(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs_here(monkeypatch, tmp_path)
    folders = CASES[case](tmp_path)
    given = [word for folder in folders for word in ("--plugin", folder)]
    done = invoke("run", "plan.toml", "--out", "run", *given)
    assert (done.exit_code, done.stdout) == (2, "")
    assert not Path("run").exists()
    said = done.stderr.replace(str(tmp_path), "HERE")
    golden = GOLDEN / f"{case}.txt"
    if os.environ.get("TUNBENCH_UPDATE_GOLDEN"):
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(said)
    assert said == golden.read_text()
    assert said.count("\n") == 1


@pytest.mark.parametrize("what", ["mine", "mine/tunnels", "mine/tunnels/mine.py"])
def test_what_may_not_be_read_is_named(what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made(tmp_path / "mine")
    real = os.stat

    def refused(path: Any, *rest: Any, **more: Any) -> os.stat_result:
        if path == tmp_path / what:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return real(path, *rest, **more)

    monkeypatch.setattr(os, "stat", refused)
    done = invoke("list", "tunnels", "--plugin", str(tmp_path / "mine"))
    assert (done.exit_code, done.stdout) == (2, "")
    assert f"{tmp_path / what}: cannot be read: Permission denied; " in done.stderr


def test_every_golden_message_has_its_case() -> None:
    assert {path.stem for path in GOLDEN.glob("*.txt")} == set(CASES)


def test_it_is_listed_with_the_plugin_that_brings_it(tmp_path: Path) -> None:
    folder = str(made(tmp_path / "my-vpn"))
    for what, name in (("tunnels", "mine"), ("workloads", "my-wait"), ("probes", "my-look")):
        rows = json.loads(invoke("list", what, "--plugin", folder, "--json").stdout)["rows"]
        assert {row["name"]: row["plugin"] for row in rows if row["plugin"]} == {name: "my-vpn"}
        assert "plug-in my-vpn" in invoke("list", what, "--plugin", folder).stdout
        assert "plug-in my-vpn" not in invoke("list", what).stdout


def completed(line: str) -> list[str]:
    """What a shell is offered for the last word of a line."""
    told = {"_TUNBENCH_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(line.split(" ")) - 1)}
    return CliRunner().invoke(app, [], prog_name="tunbench", env=told).output.split()


def test_a_shell_completes_its_names_behind_it(tmp_path: Path) -> None:
    folder = made(tmp_path / "my-vpn")
    assert completed(f"tunbench overhead --plugin {folder} min") == ["mine"]
    assert completed("tunbench overhead min") == []
