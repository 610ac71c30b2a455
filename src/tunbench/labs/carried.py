"""Which plug-ins go into the lab: those that a shard uses, so that others move none of its numbers."""

from collections.abc import Iterable

from tunbench.plan.shard import Shard
from tunbench.plugins.folder import Plugin


def carried(shard: Shard, plugins: Iterable[Plugin]) -> tuple[Plugin, ...]:
    """Those that bring a layer of its stack, a workload of it, or a probe that is on, by their names."""
    used = {
        "tunnels": {layer.part.name for layer in shard.stack.layers},
        "workloads": {one.about.name for one in shard.workloads},
    }
    return tuple(sorted((one for one in plugins if _is_used(one, used, shard.probes)), key=lambda one: one.name))


def _is_used(plugin: Plugin, used: dict[str, set[str]], probes: Iterable[str] | None) -> bool:
    brought = plugin.names
    # Without the key all probes are on.
    probed = brought["probes"] if probes is None else set(brought["probes"]).intersection(probes)
    return bool(probed) or any(names.intersection(brought[kind]) for kind, names in used.items())
