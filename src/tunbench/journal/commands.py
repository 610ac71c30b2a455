"""The command of each trial that a person would type to repeat its measurement."""

from collections.abc import Iterable

from tunbench.journal.events import CommandRan, JournalEvent, PhaseBegan
from tunbench.plain_text import plain


def longest_commands(events: Iterable[JournalEvent]) -> dict[tuple[str, str], str]:
    """The command of each trial that took longest, by shard and workload; waiting for something to come up is none."""
    under_way: dict[str, str] = {}
    longest: dict[tuple[str, str], tuple[float, str]] = {}
    for event in events:
        if isinstance(event, PhaseBegan):
            under_way[event.shard] = event.workload if event.name == "trial" else ""
        elif isinstance(event, CommandRan) and under_way.get(event.shard):
            key = (event.shard, under_way[event.shard])
            if not event.shell.startswith("until ") and event.took > longest.get(key, (-1.0, ""))[0]:
                longest[key] = (event.took, event.shell)
    return {key: plain(shell) for key, (_, shell) in longest.items()}
