"""What tunnels declare whatever their options: as they are, and with each value of each choice."""

from contextlib import suppress

from tunbench.runner import registry, stack
from tunbench.runner.declare import spelling
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
    """Debian's packages that tunnels and workloads are made of, whatever their options."""
    of_tunnels = (about.packages for name in registry.tunnel_names() for about in variants(name).values())
    of_workloads = (registry.workload(name).ABOUT.packages for name in registry.workload_names())
    return {package for each in (*of_tunnels, *of_workloads) for package in each}
