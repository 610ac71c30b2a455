"""Fakes for the toolbox: a runner that builds nothing, and programs that need no library."""

import json
import shlex
import shutil
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import pytest

from tunbench.labs.vm import image_build
from tunbench.runner import registry
from tunbench.toolbox import libraries
from tunbench.toolbox.command import Done


def no_libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets every program be linked statically, without asking."""
    monkeypatch.setattr(libraries, "linked", lambda _: {})


def user_with_nothing(monkeypatch: pytest.MonkeyPatch, folder: Path) -> Path:
    """A user without configuration and cache; the tunnel wireguard wants a program brought, and ipip a tool."""
    for variable, name in (("XDG_CACHE_HOME", "cache"), ("XDG_CONFIG_HOME", "config"), ("HOME", "home")):
        monkeypatch.setenv(variable, str(folder / name))
    (folder / "bin").mkdir()
    monkeypatch.setenv("PATH", f"{folder}/bin")
    for tunnel, fields in (
        ("wireguard", {"brought": ("zerotier-one",)}),
        ("ipip", {"tools": ("headscale", "tailscale")}),
    ):
        kind = registry.tunnel(tunnel)
        monkeypatch.setattr(kind, "about", kind.about.needing(**fields))
    monkeypatch.setattr(image_build, "compress", lambda tree, target: shutil.copyfile(tree, target))
    no_libraries(monkeypatch)
    return folder


def program(path: Path, prints: str = "ZeroTier One version 1.14.2 build 0") -> Path:
    """A program that a user could bring."""
    path.write_text(f"#!/bin/sh\necho '{prints}'\nexit 1\n")
    path.chmod(0o755)
    return path


def configure(home: Path, text: str) -> None:
    """Writes the user's configuration."""
    (home / "config" / "tunbench").mkdir(parents=True, exist_ok=True)
    (home / "config" / "tunbench" / "config.toml").write_text(text)


REPLACED = {
    "k8s.io/kubernetes": [
        {"Old": {"Path": f"k8s.io/{name}"}, "New": {"Path": f"./staging/src/k8s.io/{name}"}}
        for name in ("api", "kubelet")
    ],
    "github.com/projectcalico/calico": [
        {"Old": {"Path": "github.com/projectcalico/api"}, "New": {"Path": "./api"}},
        {"Old": {"Path": "k8s.io/api"}, "New": {"Path": "k8s.io/api", "Version": "v0.29.9"}},
    ],
}
"""Some of what the go.mod of a module replaces."""


class FakeRun:
    """Notes what it shall run, and leaves behind what the real clients of Go and Rust would."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.lines: list[str] = []
        self.built: list[str] = []
        self.scratch = Path()
        self.module = ""

    def __call__(self, argv: Sequence[str], folder: Path, environment: Mapping[str, str], progress: object) -> Done:
        self.scratch = self.scratch if self.lines else folder
        where = [f"cd {folder}"] if folder != self.scratch else []
        assigned = [f"{name}={shlex.quote(value)}" for name, value in sorted(environment.items())]
        self.lines.append("\n  ".join([*where, *assigned, shlex.join(argv)]))
        done: Done = getattr(self, "_" + argv[0])(list(argv))
        return done

    @property
    def transcript(self) -> str:
        """The commands, less the folders of this test."""
        text = "\n".join(self.lines) + "\n"
        return text.replace(str(self.scratch), "SCRATCH").replace(str(self.home), "HOME")

    def _go(self, argv: list[str]) -> Done:
        if argv[1:] == ["mod", "edit", "-json"]:
            return Done(0, json.dumps({"Replace": REPLACED.get(self.module)}), "")
        if argv[1:3] == ["mod", "edit"]:
            return Done(0, "", "")
        if argv[1] == "mod":
            self.module, version = argv[-1].split("@")
            return Done(0, json.dumps({"Dir": "/modules/it", "Version": version, "Sum": "h1:abc="}), "")
        self.built.append(argv[-1])
        self._leave(argv[argv.index("-o") + 1], f"of {self.module}")
        return Done(0, "", "")

    def _cargo(self, argv: list[str]) -> Done:
        self.built.append(argv[-1])
        crate, version = argv[-1], argv[argv.index("--version") + 1]
        kept = self.home / "cargo" / "registry" / "cache" / "index" / f"{crate}-{version}.crate"
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(crate)
        for word, program in pairwise(argv):
            if word in ("--bin", "--example"):
                self._leave(f"{argv[argv.index('--root') + 1]}/bin/{program}", f"of {crate}")
        return Done(0, "", "")

    def _cp(self, argv: list[str]) -> Done:
        Path(argv[-1]).mkdir()
        return Done(0, "", "")

    def _leave(self, path: str, text: str) -> None:
        Path(path).parent.mkdir(exist_ok=True)
        Path(path).write_text(f"{Path(path).name} {text}\n")
