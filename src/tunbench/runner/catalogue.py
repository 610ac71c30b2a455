"""What all tunnels, workloads and probes of this version declare, whatever a plan asks for."""

from collections.abc import Mapping, Sequence
from contextlib import suppress

from tunbench.runner import probe, registry, stack
from tunbench.runner.declare import spelling
from tunbench.runner.declare.metrics import COUNTED, OF_BRING_UP, Metric
from tunbench.runner.declare.tunnel import About


def variants(name: str) -> dict[str, About]:
    """What a tunnel declares by default, and with each value of each choice and switch alone, by its spelling."""
    options = registry.tunnel(name).takes()
    values = {option: about.choices or ("on", "off") * (about.kind == "switch") for option, about in options.items()}
    spelled = [name, *(f"{name}:{option}={value}" for option, those in values.items() for value in those)]
    found = {}
    for text in spelled:
        # Some choices go together with others alone.
        with suppress(ValueError):
            [part] = spelling.stack(text)
            found[text] = stack.declared(part)
    return found


def packages() -> set[str]:
    """Debian's packages that tunnels and workloads are made of."""
    of_tunnels = (about.packages for name in registry.tunnel_names() for about in variants(name).values())
    of_workloads = (registry.workload(name).ABOUT.packages for name in registry.workload_names())
    return {package for each in (*of_tunnels, *of_workloads) for package in each}


@registry.remembered
def metrics_by_name() -> Mapping[str, Metric]:
    """All metrics, of workloads, of what is beside them and of bringing a stack up.

    A name means one thing, whoever measures it.
    """
    of_workloads = [registry.workload(name).ABOUT.metrics for name in registry.workload_names()]
    every = (*of_workloads, beside(registry.probe_names()), OF_BRING_UP)
    return {name: metric for metrics in every for name, metric in metrics.items()}


def beside(probes: Sequence[str]) -> dict[str, Metric]:
    """The metrics of what is beside a workload: of these probes, and of what nodes count."""
    return {**probe.metrics(probes), **COUNTED}
