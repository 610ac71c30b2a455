"""Requests to a cluster's API server, with what the program printed of a real one."""

import json

import pytest

from tests.helpers.fakes import FakeEvents, FakeShell, captured, two_nodes
from tunbench.plan.axes.stack import parse as stack_of
from tunbench.runner import invocation
from tunbench.runner.declare.failures import Unsupported, WorkloadFailed
from tunbench.runner.workload import Trial
from tunbench.runner.workloads import kube_api

REAL = captured("kube-api.json")


def changed(**fields: object) -> str:
    return json.dumps({**json.loads(REAL), **fields})


def test_each_answer_has_its_latency_at_its_moment() -> None:
    failures, *latencies = kube_api.parse(REAL, 20)
    assert (failures.metric, failures.value) == ("failures", 0)
    assert len(latencies) == 20
    assert (latencies[1].value, latencies[1].at) == (0.00249534399699769, 0.107689735)
    assert [one.at for one in latencies] == sorted(one.at or 0 for one in latencies)


def test_what_is_not_answered_is_a_failure() -> None:
    less = {key: value[:15] for key, value in json.loads(REAL).items() if key != "errors"}
    failures, *latencies = kube_api.parse(json.dumps({**less, "errors": ["timed out"] * 5}), 20)
    assert (failures.value, len(latencies)) == (0.25, 15)


@pytest.mark.parametrize(
    ("text", "requests", "message"),
    [
        (captured("kube-api-denied.json"), 3, "no request was answered by 200: 401"),
        (changed(starts=[], latencies=[], codes=[], sizes=[], errors=["refused"] * 20), 20, "answered by 200: refused"),
        (REAL, 21, "it reports on 20 answers and 0 errors of 21 requests"),
        (changed(starts=[0.1] * 20), 20, "left before the one before it was answered"),
        (changed(latencies=[-1.0] * 20), 20, "no sound number among latencies: -1.0"),
        (changed(codes="x"), 20, "no list of codes"),
        (changed(errors=[1]), 20, "it reports no errors|the program reports no errors"),
        (REAL[:200], 20, "the program"),
    ],
)
def test_what_cannot_be_is_refused(text: str, requests: int, message: str) -> None:
    with pytest.raises(WorkloadFailed, match=message):
        kube_api.parse(text, requests)


def test_only_a_cluster_can_be_asked() -> None:
    what = invocation.read("kube-api:requests=5")
    assert what.misfit(stack_of("wireguard").abouts) == "it brings no cluster up, and there is no API server"
    assert what.misfit(stack_of("calico").abouts) == ""
    client, server = two_nodes(FakeShell(), FakeEvents())
    with pytest.raises(Unsupported):
        kube_api.execute(Trial(what.options, client, server, {}))


def test_it_mostly_waits() -> None:
    what = invocation.read("kube-api")
    assert what.seconds == 20
    assert what.busy == pytest.approx(3.2)
