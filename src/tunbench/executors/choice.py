"""Which executor hands out the shards of a run: the pool of this machine, or Dask and its workers."""

import re
from typing import NamedTuple

from tunbench.labs.lab import LabError
from tunbench.plain_text import line
from tunbench.plan.estimate.duration import MAX_WORKERS

POOL, DASK = "pool", "dask="

LOCAL = "local:"

ADDRESS = re.compile(r"(?:tcp|tls)://(?:[\w.-]+|\[[0-9a-fA-F:]+\]):(\d{1,5})", re.ASCII)

SPELLINGS = (POOL, f"{DASK}tcp://HOST:PORT", f"{DASK}tls://HOST:PORT", f"{DASK}{LOCAL}N")


BEGINNINGS = tuple(re.sub("[A-Z].*", "", spelling) for spelling in SPELLINGS)
"""The same as far as they can be written before an address or a number is known."""


class ExecutorError(LabError):
    """An executor cannot hand out shards; the message says why, and the mend."""


class DaskChoice(NamedTuple):
    """The address of a scheduler, or how many workers this process has itself."""

    address: str
    local: int = 0

    @property
    def name(self) -> str:
        """What messages call it."""
        return self.address or f"{LOCAL}{self.local}"


def chosen(text: str | None, workers: int | None = None) -> DaskChoice | None:
    """What `--executor` names; None is the pool. Raises ExecutorError, also for a number of `workers` beside Dask's."""
    if text is None or text == POOL:
        return None
    if not text.startswith(DASK):
        raise ExecutorError(f"--executor {line(text, 100)}: give {', '.join(SPELLINGS[:-1])} or {SPELLINGS[-1]}")
    choice = _dask(text.removeprefix(DASK))
    if workers is not None:
        raise ExecutorError(
            f"--workers beside --executor {line(text, 100)}: Dask's workers say how many shards each takes at a time, "
            "with --nthreads; leave --workers away"
        )
    return choice


def _dask(where: str) -> DaskChoice:
    found = ADDRESS.fullmatch(where)
    if found and 0 < int(found[1]) < 1 << 16:
        return DaskChoice(where)
    number = where.removeprefix(LOCAL)
    if where.startswith(LOCAL) and re.fullmatch(r"\d{1,4}", number, re.ASCII) and 0 < int(number) <= MAX_WORKERS:
        return DaskChoice("", int(number))
    told = f"--executor {DASK}{line(where, 100)}"
    if where.startswith(LOCAL):
        raise ExecutorError(f"{told}: give a number of workers from 1 to {MAX_WORKERS}, such as {DASK}{LOCAL}2")
    raise ExecutorError(f"{told}: name a scheduler, such as {DASK}tcp://10.0.0.1:8786, or {DASK}{LOCAL}2 for this host")
