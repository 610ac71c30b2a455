"""The cores of the machine on which the runner is."""

import os


def visit_all() -> set[str]:
    """Runs on each core once, if it may: the kernel adds up a core's idle time when it ends, not while it lasts.

    Returns the cores, named as in /proc/stat. Those of nodes are among them, which this process keeps away from else.
    """
    allowed, count = os.sched_getaffinity(0), os.cpu_count() or 1
    visited = set(allowed)
    try:
        for core in range(count) if count > 1 else ():
            if _visited(core):
                visited.add(core)
    finally:
        os.sched_setaffinity(0, allowed)
    return {f"cpu{core}" for core in visited}


def _visited(core: int) -> bool:
    """Goes to a core, if this machine lets it."""
    try:
        os.sched_setaffinity(0, {core})
    except OSError:
        return False
    return True
