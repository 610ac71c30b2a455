"""The programs that each tool of the toolbox holds, so that a verdict can name the command that installs one."""

from collections.abc import Sequence

HOLDS = {
    "boringtun": ("boringtun-cli",),
    "easytier": ("easytier-core", "easytier-cli"),
    "headscale": ("headscale",),
    "innernet": ("innernet", "innernet-server"),
    "nebula": ("nebula-1.10", "nebula-cert-1.10"),
    "netbird": ("netbird", "netbird-mgmt", "netbird-signal", "netbird-relay"),
    "tailscale": ("tailscaled", "tailscale", "derper"),
    "vpncloud": ("vpncloud",),
    "wesher": ("wesher",),
}
"""Programs by the name of their tool. Debian has an older Nebula: the release stands in the names of the other."""


def holding(program: str, tools: Sequence[str]) -> str:
    """Which of these tools holds a program; empty where none does."""
    return next((tool for tool in tools if program in HOLDS.get(tool, ())), "")
