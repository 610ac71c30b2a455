"""The tools, as data: which programs each holds, from which package, at which version, and what building it takes."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from tunbench.labs.definition import cache
from tunbench.labs.extras import Kind as ExtraKind
from tunbench.runner.options import nearest
from tunbench.runner.tools import HOLDS


@dataclass(frozen=True)
class Tool:
    """One tool: `source` is the Go module, or the crates; `parts` names what each of its programs is built from.

    A part of a Go module is a folder below it, one of a crate is the crate with the name of its program.
    """

    name: str
    version: str
    source: Literal["go", "cargo"]
    parts: Mapping[str, str]
    module: str = ""
    # The oldest Go or Rust that builds it.
    needs: str = ""
    kind: ExtraKind = "tools"

    @property
    def programs(self) -> tuple[str, ...]:
        """The programs that it holds."""
        return HOLDS[self.name]

    @property
    def folder(self) -> Path:
        """Where it lies in the cache, when it is installed."""
        return cache() / "tools" / f"{self.name}-{self.version}"

    @property
    def command(self) -> str:
        """The command that installs it, given its name."""
        return "tunbench toolbox install"

    @property
    def installed(self) -> bool:
        """Whether it is there."""
        return (self.folder / "manifest.json").exists()


TOOLS: Mapping[str, Tool] = MappingProxyType(
    {
        tool.name: tool
        for tool in (
            Tool("boringtun", "0.7.1", "cargo", {"boringtun-cli": "boringtun-cli"}),
            Tool("easytier", "2.0.3", "cargo", {"easytier-core": "easytier", "easytier-cli": "easytier"}),
            Tool("headscale", "0.28.0", "go", {"headscale": "cmd/headscale"}, "github.com/juanfont/headscale"),
            Tool("innernet", "2.0.0", "cargo", {"innernet": "innernet", "innernet-server": "innernet-server"}),
            Tool(
                "nebula",
                "1.10.3",
                "go",
                {"nebula-1.10": "cmd/nebula", "nebula-cert-1.10": "cmd/nebula-cert"},
                "github.com/slackhq/nebula",
            ),
            Tool(
                "netbird",
                "0.71.4",
                "go",
                {
                    "netbird": "client",
                    "netbird-mgmt": "management",
                    "netbird-signal": "signal",
                    "netbird-relay": "relay",
                },
                "github.com/netbirdio/netbird",
            ),
            Tool(
                "tailscale",
                "1.102.5",
                "go",
                {"tailscaled": "cmd/tailscaled", "tailscale": "cmd/tailscale", "derper": "cmd/derper"},
                "tailscale.com",
            ),
            Tool("vpncloud", "2.3.0", "cargo", {"vpncloud": "vpncloud"}),
            Tool("wesher", "0.2.6", "go", {"wesher": "."}, "github.com/costela/wesher"),
        )
    }
)
"""Every tool, by its name."""


def tool(name: str) -> Tool:
    """The tool of that name. Raises ValueError where there is none."""
    if name not in TOOLS:
        raise ValueError(f'there is no tool "{name}"{nearest(name, list(TOOLS))}')
    return TOOLS[name]
