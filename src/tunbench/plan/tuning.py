"""Reads the tunings of a plan: the name of a shipped one, or an inline table, which may sweep."""

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from importlib.resources import files

from tunbench.plan import sweep
from tunbench.plan.places import MistakeAt, shown
from tunbench.plan.shard import Tuning
from tunbench.runner.contract import SMALLEST_MTU
from tunbench.runner.options import nearest
from tunbench.runner.spelling import NAME
from tunbench.runner.tuning import CONGESTION, OFFLOADS
from tunbench.runner.underlay import MTU

KEYS = ("name", "sysctl", "congestion", "offloads", "mtu")
EXAMPLE = '{ name = "bbr", congestion = "bbr" }'

LARGEST_MTU = 65_535
"""Bytes: more, a veth does not take (Linux 6.1, ETH_MAX_MTU)."""

SYSCTL = re.compile(r"net([./][a-z0-9_-]+)+")
"""Network settings alone, and no path that leads elsewhere."""

SETTING = re.compile(r"[!-~]([ -~]{0,198}[!-~])?")
"""The value of a sysctl: one line of ASCII."""

ALGORITHM = re.compile(r"[a-z][a-z0-9_]{0,14}")
"""The name of a congestion control: Linux 6.1, TCP_CA_NAME_MAX."""


@cache
def shipped() -> dict[str, Tuning]:
    """The tunings that come with Tunbench, by name."""
    tables = tomllib.loads(files("tunbench.plan").joinpath("tunings.toml").read_text())
    return {name: _from_table({"name": name, **table}) for name, table in tables.items()}


def read_tunings(value: object) -> list[Tuning]:
    """The tunings that an entry of a plan stands for: one, or those of its sweeps, named by the swept values.

    Raises ValueError; MistakeAt where it is in one key.
    """
    if isinstance(value, str):
        if value not in shipped():
            raise ValueError(f'unknown tuning "{value}"{nearest(value, shipped())}')
        return [shipped()[value]]
    if not isinstance(value, dict):
        raise ValueError(f"{shown(value)} is not a tuning: write a name, or a table such as {EXAMPLE}")
    if value.get("name") in list(shipped()):
        raise MistakeAt(f'"{value["name"]}" is the name of a shipped tuning: take another', "name")
    swept = sweep.tables(value, fixed=[("name",), ("sysctl",), ("offloads",)])
    tunings = [(one, _from_table(one.table)) for one in swept]
    return [replace(tuning, name=one.name(tuning.name)) for one, tuning in tunings]


def _from_table(table: Mapping[str, object]) -> Tuning:
    for key in table:
        if key not in KEYS:
            raise MistakeAt(f'unknown key "{key}"{nearest(key, list(KEYS))}', key)
    if "name" not in table:
        raise ValueError(f"the tuning has no name, and results are known by it: write for example {EXAMPLE}")
    name = table["name"]
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise MistakeAt(f"{shown(name)} is not a name: write lower-case letters, digits and -, a letter first", "name")
    congestion, sysctl = _congestion(table.get("congestion", "")), _sysctl(table.get("sysctl", {}))
    if congestion and CONGESTION in sysctl:
        raise MistakeAt(f"the key congestion says this already: take {CONGESTION} away", "sysctl", CONGESTION)
    return Tuning(name, sysctl, congestion, _offloads(table.get("offloads", {})), _mtu(table.get("mtu", MTU)))


def _sysctl(table: object) -> dict[str, str]:
    if not isinstance(table, dict):
        raise MistakeAt(f'{shown(table)} is not a table: write {{ "net.ipv4.tcp_reordering" = "10" }}', "sysctl")
    found: dict[str, str] = {}
    for key, value in _flat(table):
        if not SYSCTL.fullmatch(key):
            raise MistakeAt(f'"{key}" is not a sysctl of the network: write net. and its name', "sysctl", key)
        if isinstance(value, bool | float) or not SETTING.fullmatch(str(value)):
            raise MistakeAt(f"{shown(value):.80} is not the value of a sysctl: write one line", "sysctl", key)
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
        raise MistakeAt(f'{shown(value)} is not a congestion control: write its name, such as "bbr"', "congestion")
    return str(value)


def _offloads(table: object) -> dict[str, bool]:
    if not isinstance(table, dict):
        raise MistakeAt(f"{shown(table)} is not a table: write {{ tso = false, gso = false }}", "offloads")
    for key, value in table.items():
        if key not in OFFLOADS:
            raise MistakeAt(f'unknown offload "{key}"{nearest(key, OFFLOADS)}', "offloads", key)
        if not isinstance(value, bool):
            raise MistakeAt(f"{shown(value)} is neither true nor false", "offloads", key)
    return dict(table)


def _mtu(value: object) -> int:
    if isinstance(value, str) and value.isdecimal() and len(value) < 9:
        # The values of a range are texts.
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        raise MistakeAt(f"{shown(value)} is not a whole number of bytes: write for example mtu = 9000", "mtu")
    if not SMALLEST_MTU[4] <= value <= LARGEST_MTU:
        raise MistakeAt(f"{value} is out of range: allowed is {SMALLEST_MTU[4]} to {LARGEST_MTU} bytes", "mtu")
    return value
