"""The tools, as data: which programs each holds, from which package, at which version, and what building it takes."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from tunbench.labs.extras import ExtraKind
from tunbench.labs.vm.image_definition import cache
from tunbench.runner.declare.options import nearest
from tunbench.runner.declare.tools import HOLDS


class UnknownTool(Exception):
    """There is no tool of that name; the message names the nearest."""


@dataclass(frozen=True)
class Tool:
    """One tool. `parts` says what each of its programs is built from: a folder of the Go module, or a crate.

    `seconds` of one free core, and `space`, bytes on the disk at most with what is fetched, are what building took with
    Go 1.26 and Rust 1.95.
    """

    name: str
    version: str
    language: Literal["go", "rust"]
    parts: Mapping[str, str]
    # What its go.mod says, or the newest Rust that one of its crates and their locked dependencies ask for.
    oldest: str
    seconds: int
    space: float
    module: str = ""
    # Programs that link C code: SQLite.
    cgo: tuple[str, ...] = ()
    # Variables of the Go program that hold its version.
    stamps: tuple[str, ...] = ()
    # Programs that the build calls, and Debian's packages that bring them with what they need.
    calls: Mapping[str, str] = field(default_factory=dict)
    kind: ExtraKind = "tools"

    @property
    def programs(self) -> tuple[str, ...]:
        """The programs that it holds."""
        return HOLDS[self.name]

    @property
    def folder(self) -> Path:
        """Where it lies in the cache, when it is installed."""
        return tools_folder() / f"{self.name}-{self.version}"

    @property
    def build(self) -> str:
        """The command that installs it."""
        return f"tunbench toolbox install {self.name}"

    @property
    def rebuild(self) -> str:
        """The command that installs it although something is there."""
        return f"tunbench toolbox install --force {self.name}"

    @property
    def installed(self) -> bool:
        """Whether it is there, as far as this user may look."""
        return os.access(self.folder / "manifest.json", os.F_OK)


NETBIRD = "github.com/netbirdio/netbird"

# What /usr/include and protoc bring that the crate's build asks for.
PROTOC = {"protoc": "protobuf-compiler libprotobuf-dev"}
GCC = {"gcc": "gcc libc6-dev"}

_TABLE = (
    Tool(
        name="boringtun",
        version="0.7.1",
        language="rust",
        parts={"boringtun-cli": "boringtun-cli"},
        oldest="1.88",
        seconds=90,
        space=3e8,
        calls=GCC,
    ),
    Tool(
        name="easytier",
        version="2.0.3",
        language="rust",
        parts={"easytier-core": "easytier", "easytier-cli": "easytier"},
        oldest="1.77",
        seconds=360,
        space=1.5e9,
        calls=GCC | PROTOC,
    ),
    Tool(
        name="headscale",
        version="0.28.0",
        language="go",
        module="github.com/juanfont/headscale",
        parts={"headscale": "cmd/headscale"},
        oldest="1.25.5",
        seconds=193,
        space=1e9,
    ),
    Tool(
        name="innernet",
        version="2.0.0",
        language="rust",
        parts={"innernet": "innernet", "innernet-server": "innernet-server"},
        oldest="1.82",
        seconds=270,
        space=4e8,
        calls=GCC,
    ),
    Tool(
        name="nebula",
        version="1.10.3",
        language="go",
        module="github.com/slackhq/nebula",
        parts={"nebula-1.10": "cmd/nebula", "nebula-cert-1.10": "cmd/nebula-cert"},
        oldest="1.25",
        seconds=76,
        space=4e8,
        stamps=("main.Build",),
    ),
    Tool(
        name="netbird",
        version="0.71.4",
        language="go",
        module=NETBIRD,
        parts={
            "netbird": "client",
            "netbird-mgmt": "management",
            "netbird-signal": "signal",
            "netbird-relay": "relay",
        },
        oldest="1.25.5",
        seconds=430,
        space=2.5e9,
        cgo=("netbird-mgmt",),
        stamps=(f"{NETBIRD}/version.version",),
        calls=GCC,
    ),
    Tool(
        name="tailscale",
        version="1.102.5",
        language="go",
        module="tailscale.com",
        parts={"tailscaled": "cmd/tailscaled", "tailscale": "cmd/tailscale", "derper": "cmd/derper"},
        oldest="1.26.6",
        seconds=222,
        space=1.1e9,
        stamps=("tailscale.com/version.longStamp", "tailscale.com/version.shortStamp"),
    ),
    Tool(
        name="vpncloud",
        version="2.3.0",
        language="rust",
        parts={"vpncloud": "vpncloud"},
        oldest="1.56",
        seconds=66,
        space=3e8,
        calls=GCC,
    ),
    Tool(
        name="wesher",
        version="0.2.6",
        language="go",
        module="github.com/costela/wesher",
        parts={"wesher": "."},
        oldest="1.13",
        seconds=45,
        space=1.5e8,
        stamps=("main.version",),
    ),
)

TOOLS: Mapping[str, Tool] = MappingProxyType({tool.name: tool for tool in _TABLE})
"""Every tool, by its name."""


def tools_folder() -> Path:
    """Where tools lie in the cache."""
    return cache() / "tools"


def tool(name: str) -> Tool:
    """The tool of that name. Raises UnknownTool."""
    if name not in TOOLS:
        raise UnknownTool(f'there is no tool "{name}"{nearest(name, list(TOOLS))}')
    return TOOLS[name]
