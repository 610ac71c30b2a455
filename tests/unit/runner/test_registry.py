import sys
from pathlib import Path

import pytest

from tunbench.runner import catalogue, probe, registry, tunnels
from tunbench.runner.declare.metrics import COUNTED, Question
from tunbench.runner.declare.options import resolve


def test_what_is_there_is_found() -> None:
    assert {"none", "wireguard", "ipip", "gre", "vxlan", "macvlan", "openvpn"} <= set(registry.tunnel_names())
    assert {"ping", "iperf3-tcp", "iperf3-udp"} <= set(registry.workload_names())
    assert {"cost", "processor", "memory", "hardware"} == set(registry.probe_names())


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


@pytest.mark.parametrize("name", registry.probe_names())
def test_every_probe_declares_what_the_contract_asks_for(name: str) -> None:
    module = registry.probe(name)
    assert module.ABOUT.name == name
    assert module.ABOUT.summary
    assert module.ABOUT.metrics
    assert callable(module.read)
    assert callable(module.samples)


def test_no_two_have_a_metric_of_one_name() -> None:
    probed = [metric for name in registry.probe_names() for metric in registry.probe(name).ABOUT.metrics]
    measured = {metric for name in registry.workload_names() for metric in registry.workload(name).ABOUT.metrics}
    assert len(set(probed)) == len(probed)
    assert not measured & set(probed)
    assert not {*measured, *probed} & COUNTED.keys()


def test_a_metric_of_one_name_means_the_same_in_every_workload() -> None:
    for name in registry.workload_names():
        for metric, declared in registry.workload(name).ABOUT.metrics.items():
            there = catalogue.metrics_by_name()[metric]
            same = (
                "unit",
                "answers",
                "main",
                "limits",
                "more_is_better",
                "summed_over_cores",
                "followed",
                "at_a_glance",
            )
            assert [getattr(declared, key) for key in same] == [getattr(there, key) for key in same], (name, metric)


def test_every_metric_has_bounds_and_answers_a_question() -> None:
    for name, metric in catalogue.metrics_by_name().items():
        assert metric.limits.low < metric.limits.high, name
        assert metric.answers in Question, name
    assert {name for name, metric in catalogue.metrics_by_name().items() if metric.answers is Question.OTHER} == {
        probe.PROBE_SHARE
    }


@pytest.mark.parametrize("name", registry.workload_names())
def test_what_sums_up_a_workload_is_a_metric_of_it(name: str) -> None:
    about = registry.workload(name).ABOUT
    assert set(about.headline) <= set(about.metrics)


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(ValueError, match=r'unknown tunnel "wiregaurd"; did you mean "wireguard"\?'):
        registry.tunnel("wiregaurd")
    with pytest.raises(ValueError, match=r'unknown workload "pin"; did you mean "ping"\?'):
        registry.workload("pin")
    with pytest.raises(ValueError, match=r'unknown probe "cots"; did you mean "cost"\?'):
        registry.probe("cots")


def test_a_file_with_a_mistake_is_told_to_those_alone_who_ask_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a_mistake.py").write_text("from tunbench.runner.tunnels.wireguard import nothing_of_that_name\n")
    (tmp_path / "typed_wrongly.py").write_text("def\n")
    (tmp_path / "z_sound.py").write_text("reached = True\n")
    monkeypatch.setattr(tunnels, "__path__", [*tunnels.__path__, str(tmp_path)])
    registry.import_all()
    assert sys.modules.pop("tunbench.runner.tunnels.z_sound").reached
    with pytest.raises(ImportError, match="nothing_of_that_name"):
        registry.tunnel("a-mistake")
    with pytest.raises(SyntaxError):
        registry.tunnel("typed-wrongly")
