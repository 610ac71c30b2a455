"""Examines this machine: can it run the labs, and each tunnel and impairment in namespaces of its own kernel?"""

import os
import shutil
from collections.abc import Sequence

from tunbench.doctor import images, native_requirements, programs
from tunbench.doctor.host_check import ABOVE_FIRST, NATIVE, HostCheck
from tunbench.doctor.native_requirements import Lack
from tunbench.labs.vm import kvm, qemu
from tunbench.labs.vm.image_definition import BASE
from tunbench.plan.axes.stack import PlannedStack, parse
from tunbench.runner import invocation, registry
from tunbench.runner.catalogue import variants
from tunbench.runner.declare.kernel_module import over
from tunbench.toolbox import brought_programs
from tunbench.toolbox.command import ToolError

IMPAIRMENTS: dict[str, dict[str, float | str]] = {
    "delay": {"delay": 0.01},
    "jitter": {"delay": 0.01, "jitter": 0.001},
    "distribution": {"delay": 0.01, "jitter": 0.001, "distribution": "normal"},
    "loss": {"loss": 0.01},
    "gemodel": {"gemodel_p": 0.01, "gemodel_r": 0.5},
    "state": {"state_p13": 0.01, "state_p31": 0.5},
    "reorder": {"delay": 0.01, "reorder": 0.01},
    "duplicate": {"duplicate": 0.01},
    "corrupt": {"corrupt": 0.01},
    "slot": {"slot_min_delay": 0.001},
}
"""Terms of profiles, in SI units, that show whether each kind of impairment can be had."""


def host_checks() -> list[HostCheck]:
    """All that is looked for, and what was found."""
    return [_qemu(), images.base(), _clock(), *images.addons(), *programs.rows(), *_native()]


def _qemu() -> HostCheck:
    found = shutil.which(qemu.QEMU)
    mend = "" if found else qemu.MEND
    return HostCheck("vm lab: QEMU", bool(found), found or "not installed", mend, needed=True)


def _clock() -> HostCheck:
    if not shutil.which(qemu.QEMU) or not os.access(BASE.folder / "vmlinux", os.F_OK):
        return HostCheck("vm lab: real clock", False, "not tried", ABOVE_FIRST)
    how = (
        "KVM boots the lab's kernel"
        if kvm.works()
        else "KVM does not boot the lab's kernel here: TCG with several threads"
    )
    return HostCheck("vm lab: real clock", True, how)


def _native() -> list[HostCheck]:
    """One row for the lab itself, one a tunnel, one for all workloads, and one for impairments of the same answer."""
    if missing := native_requirements.of_lab():
        return [_lacking("native lab", missing)]
    impairments = {name: native_requirements.of_impairment(terms) for name, terms in IMPAIRMENTS.items()}
    workloads = {name: native_requirements.of_workload(invocation.read(name)) for name in registry.workload_names()}
    return [
        HostCheck("native lab", True, "root, and the programs that it runs"),
        *(_tunnel(name) for name in registry.tunnel_names()),
        *_same(f"{NATIVE}workloads", workloads),
        *_same(f"{NATIVE}impairments", impairments),
    ]


def _tunnel(name: str) -> HostCheck:
    """What a tunnel lacks with its defaults, and which of its variants lack something else."""
    usual, *others = differing(name)
    known = _at_hand(name)
    missing = native_requirements.of_stack(parse(usual), known)
    grouped: dict[tuple[Lack, ...], list[str]] = {}
    for other in others:
        grouped.setdefault(tuple(native_requirements.of_stack(parse(other), known)), []).append(other)
    if not missing:
        found = [f"{', '.join(those)}: lacks {_named(lack)}" for lack, those in grouped.items() if lack]
        mends = [one for lack in grouped for one in lack]
        return HostCheck(f"{NATIVE}{name}", True, "; but ".join(["can run", *found]), native_requirements.mends(mends))
    row = _lacking(f"{NATIVE}{name}", missing)
    return row._replace(found=f"{row.found}; {', '.join(grouped[()])} can run") if () in grouped else row


def _at_hand(tunnel: str) -> dict[str, str]:
    """The files that the user has of a tunnel's programs; a wrong configuration has a row of its own."""
    try:
        brought = brought_programs.files_at_hand(registry.tunnel(tunnel).about.needs.brought, {})
        return {**brought_programs.configured(), **brought}
    except ToolError:
        return {}


def differing(name: str) -> list[str]:
    """The spelling of a tunnel with its defaults, and with each other choice that changes what it needs."""
    needs = {text: _needs(parse(text)) for text in variants(name)}
    return [text for text, needed in needs.items() if text == name or needed != needs[name]]


def _needs(stack: PlannedStack) -> list[tuple[object, ...]]:
    """The programs and modules that each layer of a stack needs."""
    layers = native_requirements.layers_of(stack)
    each = [(layer.declared.needs, layer.context.outer) for layer in layers]
    return [(needs.programs, needs.brought, over(needs.modules, outer)) for needs, outer in each]


def _same(what: str, found: dict[str, list[Lack]]) -> list[HostCheck]:
    """One row for all that lack the same."""
    grouped: dict[tuple[Lack, ...], list[str]] = {}
    for name, missing in found.items():
        grouped.setdefault(tuple(missing), []).append(name)
    return [
        _lacking(what, lack)._replace(found=f"{', '.join(names)}: lacks {_named(lack)}")
        if lack
        else HostCheck(what, True, ", ".join(names))
        for lack, names in grouped.items()
    ]


def _lacking(what: str, missing: Sequence[Lack]) -> HostCheck:
    return HostCheck(what, False, f"lacks {_named(missing)}", native_requirements.mends(missing))


def _named(missing: Sequence[Lack]) -> str:
    return ", ".join(one.what for one in missing)
