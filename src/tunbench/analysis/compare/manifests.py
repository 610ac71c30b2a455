"""What differs between two runs besides their numbers: lab, image, runner, plan."""

from collections.abc import Iterable
from typing import NamedTuple

from tunbench.journal.record import Record
from tunbench.plan.shard import canonical
from tunbench.runner import registry

PARTS = {
    "runner": ("runner",),
    "image": ("image", "digest"),
    "emulator": ("qemu",),
    "Tunbench": ("tunbench", "version"),
    "commit": ("tunbench", "commit"),
    "processor": ("host", "processor"),
}
"""What a run depends on, by its name, and where it stands in the manifest."""

HOSTS = ("processor",)
"""Of these, what makes no difference on the virtual clock."""


TABLES = (
    ("", ("image", "packages")),
    ("tool ", ("tools",)),
    ("brought ", ("brought",)),
    ("plug-in ", ("plugins",)),
    ("", ("programs",)),
    ("plan: ", ("plan",)),
)
"""Tables of the manifest whose keys are compared one by one, and what stands before a key."""


KERNEL, KERNEL_PACKAGES = "kernel", "linux-image-"
"""What the runner says of the kernel stands by this name, and its packages begin with this."""


class Difference(NamedTuple):
    """One thing that two runs do not have in common, and what it is in each."""

    what: str
    a: str
    b: str


def differences(a: Record, b: Record) -> list[Difference]:
    """What differs of the runs' manifests, in the order of PARTS, then of TABLES."""
    virtual = a.clock == "virtual"
    parts = {what: keys for what, keys in PARTS.items() if not (virtual and what in HOSTS)}
    found = [Difference(what, _text(a, *keys), _text(b, *keys)) for what, keys in parts.items()]
    for name, keys in TABLES:
        sides = [value if isinstance(value := one.fact(*keys), dict) else {} for one in (a, b)]
        found += [
            Difference(f"{name}{key}", _text(a, *keys, key), _text(b, *keys, key))
            for key in dict.fromkeys((*sides[0], *sides[1]))
        ]
    differing: dict[str, Difference] = {}
    for one in found:
        if one.a != one.b:
            differing.setdefault(one.what, one)
    # The version of a program is that of its package, which says it more closely.
    twice = [what for what in differing if _package_of(what, differing) in differing.keys() - {what}]
    return [one for what, one in differing.items() if what not in twice]


def _package_of(program: str, names: Iterable[str]) -> str:
    """Debian's package of a program that workloads run, or of the kernel; empty where none is known."""
    if program == KERNEL:
        return next((name for name in names if name.startswith(KERNEL_PACKAGES)), "")
    programs = (registry.workload(name).ABOUT.programs for name in registry.workload_names())
    return next((found[program] for found in programs if program in found), "")


def lab_of(record: Record) -> str:
    """The lab of a run with its clock, such as `vm (virtual)`."""
    return f"{record.fact('lab', 'kind')} ({record.clock})"


def _text(record: Record, *keys: str) -> str:
    value = record.fact(*keys)
    if isinstance(value, list):
        # Whole, not by name: a profile of the same name may ask for something else.
        return ", ".join(canonical(one) if isinstance(one, dict) else str(one) for one in value)
    if isinstance(value, dict) and "digest" in value:
        digest = str(value["digest"])[:12]
        return f"{value['version']} ({digest})" if "version" in value else digest
    return "" if value is None else str(value)
