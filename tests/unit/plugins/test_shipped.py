"""What is shipped stands up to what is asked of plug-ins."""

import pytest

from tunbench.plugins import declared
from tunbench.runner import registry

SHIPPED = [
    *(("tunnels", name) for name in registry.tunnel_names()),
    *(("workloads", name) for name in registry.workload_names()),
    *(("probes", name) for name in registry.probe_names()),
]


@pytest.mark.parametrize(("kind", "name"), SHIPPED)
def test_what_is_shipped_declares_what_the_contract_asks_for(kind: str, name: str) -> None:
    assert [f"{wrong}: {why}" for wrong, why in declared.CHECKS[kind](name)] == []


def test_a_metric_of_one_name_means_the_same_in_all_that_is_shipped() -> None:
    declared.check_together(())
    assert declared.first_mistake() == ""
