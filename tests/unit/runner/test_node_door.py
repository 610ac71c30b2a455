"""A node is the only door to a machine: nothing else of the runner opens a file or starts a process."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import tunbench.runner

FOLDER = Path(tunbench.runner.__file__).parent

EXECUTED = {
    "__main__.py": "the start of a shard: it reads what is to be done",
    "in_vm.py": "the same in a VM",
    "on_this_kernel.py": "it makes the folders in which nodes will be, and opens the door",
    "template.py": "what a VM does before there is a node",
    "explore.py": "the same, for a person who looks around",
    "proof/echo.py": "a program that runs on a node",
    "tunnels/calico/image.py": "a program that runs on a node",
    "workloads/kube_api/asker.py": "a program that runs on a node",
    "workloads/nix_cache/cache_files.py": "a program that runs on a node",
    "workloads/quic/line_moments.py": "a program that runs on a node",
    "workloads/rist/numbered_stream.py": "a program that runs on a node",
    "workloads/shared/multicast_stream.py": "a program that runs on a node",
    "workloads/shared/probe_stream.py": "a program that runs on a node",
    "workloads/shared/raw_listener.py": "a program that runs on a node",
}
"""What is executed by itself, and why it is not behind the door."""

FILES = sorted(
    path
    for path in FOLDER.rglob("*.py")
    if "node" not in path.relative_to(FOLDER).parts and str(path.relative_to(FOLDER)) not in EXECUTED
)

MODULES = {
    *("subprocess", "shutil", "tempfile", "glob", "fcntl", "mmap", "socket", "platform", "multiprocessing"),
    *("tunbench.runner.node.processes", "tunbench.runner.node.cores", "tunbench.runner.node.files"),
    "tunbench.runner.node.shell.LocalShell",
}
"""What knows of one machine alone: the one on which the runner is."""

OF_OS = {"urandom"}
"""What may be had of `os`: random bytes."""

OF_SYS = {"executable", "platform", "prefix"}
"""What may not be had of `sys`: what it says of this machine, where a node may be on another."""

OF_A_PATH = {
    *(
        "open",
        "read_text",
        "write_text",
        "write_bytes",
        "unlink",
        "mkdir",
        "rmdir",
        "iterdir",
        "rglob",
        "stat",
        "lstat",
    ),
    *("is_file", "is_dir", "readlink", "symlink_to", "chmod"),
}
"""What a path does, and nothing else of the runner."""

OF_A_BARE_PATH = {"exists", "read_bytes", "touch"}
"""What a path does without an argument, and a node with one."""

INSIDE = {"holder", "enter"}
"""What a node keeps to itself, besides its shell."""


def past_the_node(text: str) -> Iterator[str]:
    """Every place of a program that goes past the node."""
    for one in ast.walk(ast.parse(text)):
        match one:
            case ast.Import(names=names):
                yield from (alias.name for alias in names if alias.name in MODULES)
            case ast.ImportFrom(module=module, names=names):
                whole = {module or "", *(f"{module}.{alias.name}" for alias in names)}
                yield from sorted(whole & MODULES)
            case ast.Call(func=ast.Name(id="open" | "exec" | "eval" as name)):
                yield name
            case ast.Call(func=ast.Attribute(attr=name), args=args):
                if name in OF_A_PATH or (name in OF_A_BARE_PATH and not args):
                    yield f".{name}()"
        match one:
            case ast.Attribute(value=ast.Name(id="os"), attr=name) if name not in OF_OS:
                yield f"os.{name}"
            case ast.Attribute(value=ast.Name(id="sys"), attr=name) if name in OF_SYS:
                yield f"sys.{name}"
            case ast.Attribute(value=ast.Attribute(attr="shell"), attr=name):
                yield f".shell.{name}"
            case ast.Attribute(attr=name) if name in INSIDE:
                yield f".{name}"


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(FOLDER)))
def test_nothing_goes_past_the_node(file: Path) -> None:
    assert list(past_the_node(file.read_text())) == []


@pytest.mark.parametrize("file", EXECUTED)
def test_what_is_executed_by_itself_is_there(file: str) -> None:
    assert (FOLDER / file).is_file()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("open('/proc/stat')", ["open"]),
        ("import subprocess", ["subprocess"]),
        ("from subprocess import run", ["subprocess"]),
        ("from tunbench.runner.node import processes", ["tunbench.runner.node.processes"]),
        ("from tunbench.runner.node.shell import LocalShell, Shell", ["tunbench.runner.node.shell.LocalShell"]),
        ("os.kill(7, 9)", ["os.kill"]),
        ("os.sched_setaffinity(0, os.sched_getaffinity(0))", ["os.sched_getaffinity", "os.sched_setaffinity"]),
        ("[sys.executable, '-c'] + sys.argv", ["sys.executable"]),
        ("node.shell.kill_all('7')", [".shell.kill_all"]),
        ("os.path.exists('/proc')", ["os.path"]),
        ("Path('/proc/stat').read_text()", [".read_text()"]),
        ("log.exists() and log.read_bytes()", [".exists()", ".read_bytes()"]),
        ("node.exists(log) and node.read_bytes(log)", []),
        ("node.shell.run(['ls'], 3)", [".shell.run"]),
        ("[*node.enter, 'ls']", [".enter"]),
        ("node.run('mkdir', '-p', str(folder)); Path(f'{stem}.key'); os.urandom(3)", []),
    ],
)
def test_the_check_notices_what_goes_past(text: str, found: list[str]) -> None:
    assert sorted(past_the_node(text)) == sorted(found)
