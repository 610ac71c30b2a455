"""The three lines above all that a machine was looked at for."""

import pytest

from tunbench.doctor.host_check import HostCheck
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
            [QEMU, HostCheck("vm lab: add-on mosquitto", False, "not built", "tunbench lab build mosquitto")],
            f"vm lab: {COUNT - 1} of {COUNT} tunnels",
            "vm lab: netmaker; the native lab",
            "tunbench run quick",
        ),
        (
            [QEMU, HostCheck("configuration: openvpn", False, "openvpn: /x cannot be read", "tunbench run …")],
            f"vm lab: {COUNT - 1} of {COUNT} tunnels",
            "vm lab: openvpn; the native lab",
            "tunbench run quick",
        ),
        (
            [QEMU, HostCheck("configuration", False, "this is not TOML", "mend config.toml", needed=True), NEBULA],
            "nothing yet",
            "the vm lab; the native lab",
            "mend config.toml",
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
