"""Sends images to workers that lack them: once to each cache, however many workers share it, and checked there."""

import errno
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tunbench.executors.choice import ExecutorError
from tunbench.executors.cluster import on_worker_received as on_worker
from tunbench.executors.cluster.sent_image import SentImage
from tunbench.labs.vm.templates import seal
from tunbench.plain_text import line

if TYPE_CHECKING:
    from distributed import Client

PIECE_BYTES, PIECES_AT_ONCE = 64 << 10, 128
"""Bytes of a piece, of which those of zeros are not sent, and how many are sent at once: the scheduler has as much for
each worker in its memory meanwhile."""


def bytes_of(images: Iterable[SentImage]) -> int:
    """How many bytes the files of images have. Raises ExecutorError."""
    return sum(map(_bytes, images))


def _bytes(one: SentImage) -> int:
    with _read_here(one):
        return sum(512 * path.stat().st_blocks for path in _files(one))


@contextmanager
def _read_here(one: SentImage) -> Iterator[None]:
    """Within it files of an image of this machine are read. Raises ExecutorError where that goes wrong."""
    try:
        yield
    except OSError as error:
        raise ExecutorError(
            f"cannot read {one.called}, which workers lack ({error.filename}: {error.strerror}); leave images and "
            "tools alone while a run goes on, and build anew what is gone"
        ) from None


def lacked(client: "Client", images: Sequence[SentImage], workers: Sequence[str]) -> dict[str, list[SentImage]]:
    """Those of the images that each worker lacks; a worker that cannot say so lacks all."""
    answers = ran(client, workers, on_worker.lacking, [list(one) for one in images])
    return {
        worker: [one for one in images if not isinstance(answer, list) or one.digest in answer]
        for worker, answer in answers.items()
    }


def send(client: "Client", run: str, one: SentImage, workers: Sequence[str]) -> dict[str, str]:
    """Sends an image to workers. Returns those that could not take it, each with the reason. Raises ExecutorError."""
    failed: dict[str, str] = {}

    def each(function: Any, *given: Any) -> None:
        left = [worker for worker in workers if worker not in failed]
        for worker, answer in ran(client, left, function, *given).items():
            if isinstance(answer, Exception):
                failed[worker] = f"cannot take {one.called}: {_told(answer)}"

    try:
        with _read_here(one):
            each(on_worker.begin, run, one.digest)
            for path in _files(one):
                name = str(path.relative_to(one.folder))
                size = path.stat().st_size
                for pieces in _pieces(path):
                    each(on_worker.take, run, one.digest, name, size, pieces)
            each(on_worker.end, run, list(one))
    except (KeyboardInterrupt, ExecutorError):
        ran(client, workers, on_worker.drop, run)
        raise
    if failed:
        ran(client, list(failed), on_worker.drop, run)
    return failed


def ran(client: "Client", workers: Sequence[str], function: Any, *given: Any) -> dict[str, Any]:
    """What a function returned on each of the workers, or the exception; one that has gone since is told as such."""
    if not workers:
        return {}
    try:
        answers = client.run(function, *given, workers=list(workers), on_error="return")
    except OSError as error:
        return {worker: error for worker in workers}
    return {worker: answers.get(worker, ConnectionError("it is gone")) for worker in workers}


def _told(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{line(str(error.strerror), 100)}; make room there, or start it with another XDG_CACHE_HOME"
    return line(str(error), 200)


def _files(one: SentImage) -> list[Path]:
    """Its files, but for what says that they are whole. Raises OSError."""
    if found := sorted(path for path in one.folder.rglob("*") if path.is_file() and path.name != seal.SEAL):
        return found
    raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(one.folder))


def _pieces(path: Path) -> Iterator[list[tuple[int, bytes]]]:
    """The pieces of a file that are not all zeros, each with its place, as many at a time as are sent at once."""
    with path.open("rb") as file:
        some: list[tuple[int, bytes]] = []
        for offset in range(0, path.stat().st_size, PIECE_BYTES):
            piece = file.read(PIECE_BYTES)
            if piece.count(0) < len(piece):
                some.append((offset, piece))
            if len(some) == PIECES_AT_ONCE:
                yield some
                some = []
        yield some
