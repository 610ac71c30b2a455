"""What a download left behind: the requests that nginx logged, and the packages that are in the client's store."""

import re
from typing import Any, NamedTuple

from tunbench.runner.declare.failures import WorkloadFailed
from tunbench.runner.node.json_output import tables
from tunbench.runner.workload import Sample
from tunbench.runner.workloads.shared.output_bounds import COUNT, LAST_WORDS, MOST_IN_JSON

LOG_FORMAT = "$status $request_method $body_bytes_sent $request_uri"
"""What nginx logs of a request; `REQUEST` reads it."""

REQUEST = re.compile(rf"(\d{{3}}) ([A-Z]{{1,8}}) ({COUNT}) (/[^ ]{{0,300}})", re.ASCII)

OK = 200


class Made(NamedTuple):
    """A cache: the store path of the package that needs all others, how many there are, and the bytes of all."""

    top: str
    packages: int
    size: int


class Request(NamedTuple):
    """A request, and how it was answered."""

    status: int
    method: str
    size: int
    path: str

    @property
    def is_whole(self) -> bool:
        """Whether it was answered with what it asked for, and not with a refusal or with headers alone."""
        return self.status == OK and self.method == "GET"


def made(text: str, packages: int) -> Made:
    """What the program that makes the cache told of it. Raises WorkloadFailed."""
    found = re.fullmatch(rf"(/nix/store/[a-z0-9]{{32}}-package-0) ({COUNT})\n", text, re.ASCII)
    if not found:
        raise WorkloadFailed(f"the cache was not made: {text[-LAST_WORDS:]!r}")
    return Made(found[1], packages, int(found[2]))


def parse(log: str, store: str, cache: Made, seconds: float) -> list[Sample]:
    """The samples of a download that took so long, by nginx's log and by what is in the store. Raises WorkloadFailed.

    Every package must be there, and their sizes must be those of the cache (NarSize), by both accounts.
    """
    requests = consistent(read(log), cache)
    _check_store(store, cache)
    return [Sample("duration", seconds), Sample("requests", len(requests))]


def read(log: str) -> list[Request]:
    """The requests that nginx logged. Raises WorkloadFailed where a line is torn."""
    requests = []
    for line in log.splitlines():
        found = REQUEST.fullmatch(line)
        if not found:
            raise WorkloadFailed(f"nginx logged {line[-LAST_WORDS:]!r}")
        requests.append(_request(found))
    if log and not log.endswith("\n"):
        raise WorkloadFailed(f"the last line of nginx's log is torn: {log[-LAST_WORDS:]!r}")
    return requests


def _request(found: re.Match[str]) -> Request:
    return Request(int(found[1]), found[2], int(found[3]), found[4])


def consistent(requests: list[Request], cache: Made) -> list[Request]:
    """The same, where each archive and each description was sent whole. Raises WorkloadFailed."""
    sent = {one.path: one.size for one in requests if one.is_whole}
    archives = [size for path, size in sent.items() if path.startswith("/nar/")]
    described = sum(path.endswith(".narinfo") for path in sent)
    if (len(archives), sum(archives)) != (cache.packages, cache.size):
        raise WorkloadFailed(
            f"nginx sent {len(archives)} archives of {sum(archives)} B, and the cache has {cache.packages} of "
            f"{cache.size} B"
        )
    if described != cache.packages:
        raise WorkloadFailed(f"nginx sent {described} descriptions of {cache.packages} packages")
    return requests


def _check_store(text: str, cache: Made) -> None:
    """Raises WorkloadFailed where the store does not have what the cache does."""
    sizes = [_size(one) for one in tables(text, "nix")]
    if (len(sizes), sum(sizes)) != (cache.packages, cache.size):
        raise WorkloadFailed(
            f"the store has {len(sizes)} packages of {sum(sizes):g} B, and the cache {cache.packages} of {cache.size} B"
        )


def _size(package: dict[str, Any]) -> float:
    found = package.get("narSize")
    # Of what is not there nix tells `"valid": false`, and of what is nothing of the kind.
    if package.get("valid", True) is not True or isinstance(found, bool) or not isinstance(found, int):
        raise WorkloadFailed(f"nix tells of no sound package: {str(package)[:LAST_WORDS]}")
    if not 0 <= found <= MOST_IN_JSON:
        raise WorkloadFailed(f"nix tells of a package of {found} B")
    return float(found)


def whole_lines(log: str) -> list[Request]:
    """The requests of a log that may be torn."""
    return [_request(found) for line in log.splitlines() if (found := REQUEST.fullmatch(line))]


def in_words(log: str, cache: Made) -> str:
    """What had come when a download failed: of how many requests, and of how many bytes."""
    requests = whole_lines(log)
    archives = {one.path: one.size for one in requests if one.is_whole and one.path.startswith("/nar/")}
    refused = [one for one in requests if one.status != OK]
    answered = f"{len(requests)} requests were answered"
    first = f", the first of {len(refused)} refused ones by {refused[0].status}: {refused[0].path}" if refused else ""
    return f"{answered}, with {sum(archives.values())} of {cache.size} B in {len(archives)} archives{first}"
