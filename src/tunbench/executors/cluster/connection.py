"""The connection to a scheduler of Dask, which is asked first whether it is one that can be worked with."""

import gc
import ipaddress
import logging
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from importlib.metadata import version
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from tunbench.executors.choice import DaskChoice, ExecutorError
from tunbench.plain_text import line

if TYPE_CHECKING:
    from distributed import Client

ANSWER_SECONDS = 10.0
"""Seconds in which a scheduler must answer."""

CALM = {"distributed.worker.profile.enabled": False, "distributed.admin.tick.interval": "1s"}
"""What keeps Dask from waking up a hundred times a second, on a core on which a VM has turns to take
(docs/clusters.md#start-one)."""

INSTALL = "pip install 'tunbench[dask]'"


@contextmanager
def connected(choice: DaskChoice) -> "Iterator[Client]":
    """A client of the scheduler; of workers of this process, there is one within. Raises ExecutorError."""
    if find_spec("distributed") is None:
        raise ExecutorError(f"Dask is not installed; install it with: {INSTALL}")
    with ExitStack() as stack:
        stack.enter_context(_quiet())
        address: Any = choice.address
        if choice.local:
            address = stack.enter_context(_workers_of_this_process(choice))
        client = _client(choice, address)
        stack.callback(client.close, timeout=5)
        _check_version(client, choice, version("distributed"))
        yield client


def _client(choice: DaskChoice, address: Any) -> "Client":
    from distributed import Client

    try:
        return Client(address, timeout=ANSWER_SECONDS, set_as_default=False)
    except (OSError, ValueError, TypeError, RuntimeError) as error:
        why = _no_answer(choice, error)
    # A client that Dask has left half made closes itself when it is collected: done in a thread of Dask's, which closes
    # it, too, that never ends.
    gc.collect()
    raise ExecutorError(why)


def caution(choice: DaskChoice) -> str:
    """What is to be said of an open connection; empty where there is nothing."""
    if not choice.address.startswith("tcp://") or _is_this_machine(choice.address):
        return ""
    return (
        f"{choice.address} is neither encrypted nor closed: whoever reaches it executes what he likes on every worker; "
        "where others share the network, use tls:// (docs/clusters.md#security)"
    )


def _is_this_machine(address: str) -> bool:
    host = address.partition("://")[2].rpartition(":")[0].strip("[]")
    with suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return host == "localhost"


class SchedulerGone(ExecutorError):
    """A scheduler that did answer does not any more."""

    def __init__(self, choice: DaskChoice) -> None:
        super().__init__(f"the scheduler at {choice.name} does not answer any more; start it again")


def _no_answer(choice: DaskChoice, error: Exception) -> str:
    if choice.address.startswith("tls://") and isinstance(error, (TypeError, RuntimeError, ValueError)):
        return f"{choice.name}: Dask has no certificates for it; name them as docs/clusters.md#security says"
    return (
        f"no scheduler of Dask answers at {choice.name} within {ANSWER_SECONDS:g} s; start one there with: dask "
        f"scheduler --port {choice.address.rpartition(':')[2]}, or name where it is"
    )


def _check_version(client: "Client", choice: DaskChoice, here: str) -> None:
    """Raises ExecutorError where the scheduler is of another version of Dask: they do not promise to understand it."""
    try:
        scheduler: Any = client.scheduler
        found = client.sync(scheduler.versions, callback_timeout=ANSWER_SECONDS)
        there = str(dict(found["packages"]).get("distributed"))
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise ExecutorError(f"{choice.name} does not say its version of Dask ({line(str(error), 200)})") from None
    if there != here:
        raise ExecutorError(
            f"the scheduler at {choice.name} has Dask distributed {line(there, 50)}, and this machine {here}; install "
            f"one version on all machines, such as: pip install distributed=={here}"
        )


@contextmanager
def _workers_of_this_process(choice: DaskChoice) -> Iterator[Any]:
    """Workers that are threads of this process: they only look after VMs, and open no port for their work.

    Raises ExecutorError.
    """
    from dask import config
    from distributed import LocalCluster

    with ExitStack() as stack:
        try:
            stack.enter_context(config.set(CALM))
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="tunbench-dask-"))
            cluster = LocalCluster(
                n_workers=choice.local,
                threads_per_worker=1,
                processes=False,
                # What they say of themselves over HTTP is for this host alone.
                dashboard_address="127.0.0.1:0",
                worker_dashboard_address="127.0.0.1:0",
                local_directory=folder,
                memory_limit=0,
            )
        except OSError as error:
            raise ExecutorError(
                f"cannot start {choice.name} ({error.filename or 'in a temporary folder'}: {error.strerror}); make "
                "room there, or name another temporary folder with TMPDIR"
            ) from None
        stack.callback(cluster.close, timeout=5)
        yield cluster


@contextmanager
def _quiet() -> Iterator[None]:
    """Within it Dask writes nothing on the terminal: what matters of it is told by whoever asks."""
    loggers = [logging.getLogger(name) for name in ("distributed", "tornado", "asyncio")]
    before = [one.level for one in loggers]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for one in loggers:
            one.setLevel(logging.CRITICAL + 1)
        try:
            yield
        finally:
            for one, level in zip(loggers, before, strict=True):
                one.setLevel(level)
