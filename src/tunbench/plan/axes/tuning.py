"""Reads the tunings of a plan: the name of a shipped one, or an inline table, which may sweep."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from tunbench.plan.axes import named_table
from tunbench.plan.axes.named_table import TableForm
from tunbench.plan.axes.reader import AxisReader
from tunbench.plan.toml.bounds import MAX_SYSCTLS
from tunbench.plan.toml.mistakes import MistakeAt, quoted
from tunbench.plan.toml.tables import alone
from tunbench.runner.declare.options import nearest
from tunbench.runner.declare.overlay import SMALLEST_MTU
from tunbench.runner.network.tuning import CONGESTION, OFFLOADS
from tunbench.runner.network.underlay import MTU


@dataclass(frozen=True)
class Tuning:
    """What the endpoints are told: sysctls, congestion control (empty: the kernel's own), offloads; MTU in bytes."""

    name: str
    sysctl: Mapping[str, str] = field(default_factory=dict)
    congestion: str = ""
    offloads: Mapping[str, bool] = field(default_factory=dict)
    mtu: int = MTU

    def spec(self) -> dict[str, Any]:
        """The tuning as the runner gets it."""
        return {
            "name": self.name,
            "sysctl": dict(sorted(self.sysctl.items())),
            "congestion": self.congestion,
            "offloads": dict(sorted(self.offloads.items())),
            "mtu": self.mtu,
        }


FORM = TableForm(
    "tuning",
    '{ name = "bbr", congestion = "bbr" }',
    keys=("name", "sysctl", "congestion", "offloads", "mtu"),
    fixed=[("name",), ("sysctl",), ("offloads",)],
)

MAX_MTU_BYTES = 65_535
"""More, a veth does not take (Linux 6.1, ETH_MAX_MTU)."""

SYSCTL = re.compile(r"(?!.{201})net([./][a-z0-9_-]+)+", re.DOTALL)
"""Network settings alone, and no path that leads elsewhere."""

SETTING = re.compile(r"[!-~]([ -~]{0,198}[!-~])?")
"""The value of a sysctl: one line of ASCII."""

ALGORITHM = re.compile(r"[a-z][a-z0-9_]{0,14}")
"""The name of a congestion control: Linux 6.1, TCP_CA_NAME_MAX."""


@cache
def shipped() -> dict[str, Tuning]:
    """The tunings that come with Tunbench, by name."""
    return named_table.shipped("tunings.toml", _from_table)


def read_tunings(value: object) -> Iterator[Tuning]:
    """The tunings that an entry of a plan stands for: one, or those of its sweeps, named by the swept values.

    Raises ValueError; MistakeAt where it is in one key.
    """
    named_table.check_new(FORM, value, shipped())
    yield from named_table.read_entries(FORM, value, shipped(), _from_table)


def _from_table(table: Mapping[str, object]) -> Tuning:
    name = named_table.name_of(FORM, table)
    congestion, sysctl = _congestion(table.get("congestion", "")), _sysctl(table.get("sysctl", {}))
    if congestion and CONGESTION in sysctl:
        raise MistakeAt(f"the key congestion says this already: take {CONGESTION} away", "sysctl", CONGESTION)
    return Tuning(name, sysctl, congestion, _offloads(table.get("offloads", {})), _mtu(table.get("mtu", MTU)))


def _sysctl(table: object) -> dict[str, str]:
    if not isinstance(table, dict):
        raise MistakeAt(f'{quoted(table)} is not a table: write {{ "net.ipv4.tcp_reordering" = "10" }}', "sysctl")
    found: dict[str, str] = {}
    for number, (key, value) in enumerate(_flat(table), start=1):
        if number > MAX_SYSCTLS:
            raise MistakeAt(f"there are more than {MAX_SYSCTLS} sysctls: take some of them away", "sysctl")
        if not SYSCTL.fullmatch(key):
            raise MistakeAt(f'"{key}" is not a sysctl of the network: write net. and its name', "sysctl", key)
        if isinstance(value, bool | float) or not SETTING.fullmatch(str(value)):
            raise MistakeAt(f"{quoted(value):.80} is not the value of a sysctl: write one line", "sysctl", key)
        name = key.replace("/", ".") if "." not in key else key
        if name in found:
            raise MistakeAt(f'"{name}" is set twice: take one of them away', "sysctl", key)
        found[name] = str(value)
    return found


def _flat(table: Mapping[str, object], above: str = "") -> Iterator[tuple[str, object]]:
    """The values with their whole names: a key without quotes is a table for each of its dots."""
    for key, value in table.items():
        name = f"{above}.{key}" if above else key
        if isinstance(value, dict):
            yield from _flat(value, name)
        else:
            yield name, value


def _congestion(value: object) -> str:
    if value != "" and (not isinstance(value, str) or not ALGORITHM.fullmatch(value)):
        raise MistakeAt(f'{quoted(value)} is not a congestion control: write its name, such as "bbr"', "congestion")
    return str(value)


def _offloads(table: object) -> dict[str, bool]:
    if not isinstance(table, dict):
        raise MistakeAt(f"{quoted(table)} is not a table: write {{ tso = false, gso = false }}", "offloads")
    for key, value in table.items():
        if key not in OFFLOADS:
            raise MistakeAt(f'unknown offload "{key}"{nearest(key, OFFLOADS)}', "offloads", key)
        if not isinstance(value, bool):
            raise MistakeAt(f"{quoted(value)} is neither true nor false", "offloads", key)
    return dict(table)


def _mtu(value: object) -> int:
    if isinstance(value, str) and value.isdecimal() and len(value) < 9:
        # The values of a range are texts.
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        raise MistakeAt(f"{quoted(value)} is not a whole number of bytes: write for example mtu = 9000", "mtu")
    if not SMALLEST_MTU[4] <= value <= MAX_MTU_BYTES:
        raise MistakeAt(f"{value} is out of range: allowed is {SMALLEST_MTU[4]} to {MAX_MTU_BYTES} bytes", "mtu")
    return value


READER = AxisReader('tuning = ["default", { name = "bbr", congestion = "bbr" }]', alone(read_tunings))
