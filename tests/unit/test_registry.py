import pytest

from tunbench.runner import registry
from tunbench.runner.options import resolve


def test_what_is_there_is_found() -> None:
    assert {"none", "wireguard", "ipip", "gre", "vxlan", "macvlan", "openvpn"} <= set(registry.tunnel_names())
    assert {"ping", "iperf3-tcp", "iperf3-udp"} <= set(registry.workload_names())


@pytest.mark.parametrize("name", registry.tunnel_names())
def test_every_tunnel_declares_what_the_contract_asks_for(name: str) -> None:
    kind = registry.tunnel(name)
    options = resolve(kind.takes(), {}, name)
    assert kind.about.name == name
    assert kind.about.summary
    assert kind.about.layer in (2, 3)
    assert kind.about.needs_underlay in ("ip", "ethernet")
    for family in kind.about.outer:
        assert 0 < kind.format(options, family).largest(1500) <= 1500
        assert kind.evidence(options, family)
        assert "{" not in kind.evidence(options, family)


@pytest.mark.parametrize("name", registry.workload_names())
def test_every_workload_declares_what_the_contract_asks_for(name: str) -> None:
    module = registry.workload(name)
    options = resolve(module.ABOUT.options, {}, name)
    assert module.ABOUT.name == name
    assert module.ABOUT.summary
    assert module.ABOUT.metrics
    assert module.seconds(options) > 0
    assert callable(module.execute)
    assert callable(module.parse)


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(ValueError, match=r'unknown tunnel "wiregaurd"; did you mean "wireguard"\?'):
        registry.tunnel("wiregaurd")
    with pytest.raises(ValueError, match=r'unknown workload "pin"; did you mean "ping"\?'):
        registry.workload("pin")
