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
from tunbench.runner.network.tuning import CONGESTION


@dataclass(frozen=True)
class Tuning:
    """What the endpoints are told: sysctls, and the congestion control (empty: the kernel's own)."""

    name: str
    sysctl: Mapping[str, str] = field(default_factory=dict)
    congestion: str = ""

    def spec(self) -> dict[str, Any]:
        """The tuning as the runner gets it."""
        return {
            "name": self.name,
            "sysctl": dict(sorted(self.sysctl.items())),
            "congestion": self.congestion,
        }


MOVED = {
    "mtu": 'the MTU belongs to the link: write link = "jumbo" for 9000 bytes, or link = { name = "small", mtu = 1400 }',
    "offloads": "what an interface does belongs to the link: the usual one cuts what leaves a node into packets, and "
    'link = "aggregates" does not',
}
"""Keys that a tuning once had, and the mend of each."""

FORM = TableForm(
    "tuning",
    '{ name = "bbr", congestion = "bbr" }',
    keys=("name", "sysctl", "congestion"),
    fixed=[("name",), ("sysctl",)],
    moved=MOVED,
)

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
    if value == "jumbo":
        raise ValueError('"jumbo" is a link: write link = "jumbo"')
    named_table.check_new(FORM, value, shipped())
    yield from named_table.read_entries(FORM, value, shipped(), _from_table)


def _from_table(table: Mapping[str, object]) -> Tuning:
    name = named_table.name_of(FORM, table)
    congestion, sysctl = _congestion(table.get("congestion", "")), _sysctl(table.get("sysctl", {}))
    if congestion and CONGESTION in sysctl:
        raise MistakeAt(f"the key congestion says this already: take {CONGESTION} away", "sysctl", CONGESTION)
    return Tuning(name, sysctl, congestion)


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


READER = AxisReader('tuning = ["default", { name = "bbr", congestion = "bbr" }]', alone(read_tunings))
