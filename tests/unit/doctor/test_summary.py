"""The three lines above all that a machine was looked at for."""

import pytest

from tunbench.doctor.examine import HostCheck
from tunbench.doctor.summary import summary
from tunbench.runner import registry

COUNT = len(registry.tunnel_names())

QEMU = HostCheck("vm lab: QEMU", True, "/usr/bin/qemu", needed=True)
NEBULA = HostCheck("native lab: nebula", True, "can run")


@pytest.mark.parametrize(
    ("checks", "can", "cannot", "first"),
    [
        ([QEMU], f"vm lab: {COUNT} of {COUNT} tunnels", "the native lab", "tunbench run quick"),
        (
            [QEMU, HostCheck("toolbox: wesher", False, "not installed", "tunbench toolbox install wesher"), NEBULA],
            f"vm lab: {COUNT - 1} of {COUNT} tunnels; native lab: 1 of {COUNT} tunnels",
            f"vm lab: wesher; native lab: {COUNT - 1} tunnels",
            "tunbench run quick; for more: tunbench toolbox install --all",
        ),
        (
            [QEMU._replace(ok=False, mend="apt-get install qemu-system-x86"), NEBULA],
            f"native lab: 1 of {COUNT} tunnels",
            f"the vm lab; native lab: {COUNT - 1} tunnels",
            "apt-get install qemu-system-x86",
        ),
    ],
)
def test_they_say_what_can_run_what_cannot_and_what_to_do_first(
    checks: list[HostCheck], can: str, cannot: str, first: str
) -> None:
    assert summary(checks) == (can, cannot, first)
