"""Real servers that die in the middle, and a cache with a hole: the verdict, its reason, and what was measured."""

import re

import pytest

from tests.helpers.measuring import execute, plan
from tunbench.journal.record import TrialResult
from tunbench.labs import payload

pytestmark = [pytest.mark.vm, pytest.mark.long, pytest.mark.timeout(3000)]

# Ends all processes of a program on a node, as soon as a shell has done what it shall wait for.
KILL = b"""

def _kill(node, program, *moment):
    node.start("sh", "-c", f"{moment[0]}; pkill -KILL -x {program}", *moment[1:], log="killer")
"""

# The server loses the description of one package that the first one needs, or is killed behind its first archive.
NIX = b"""

_complete, _undisturbed = _made, _nix
ALL_BUT_FIRST = 'rm "$(ls "$0"/*.narinfo | grep -v "$1" | head -n 1)"'


def _made(trial, folder):
    cache = _complete(trial, folder)
    if trial.options["packages"] == 6:
        first = cache.top.removeprefix("/nix/store/")[:32]
        trial.server.run("sh", "-c", ALL_BUT_FIRST, str(folder / "root"), first)
    return cache


def _nix(trial, here, there, *words):
    if words[0] == "copy" and trial.options["packages"] == 7:
        _kill(trial.server, "nginx", 'until grep -qs /nar/ "$0"; do sleep 0.002; done', str(there / "access.log"))
    return _undisturbed(trial, here, there, *words)
"""

# librist's sender is killed a second after it has found the receiver, which is when the stream begins.
RIST = b"""

_connected = _check_connected


def _check_connected(trial, sender):
    _connected(trial, sender)
    if trial.options["duration"] == 5:
        _kill(trial.client, "ristsender", "sleep 1")
"""

# The server of the first download is killed in its midst: the whole takes a second.
QUIC = b"""

_undisturbed = _download


def _download(trial, *arguments, **others):
    if trial.options["size"] == 20_000_000:
        _kill(trial.server, "gtlsserver", "sleep 0.2")
    return _undisturbed(trial, *arguments, **others)
"""

HARM = {"nix_cache": NIX, "rist": RIST, "quic": QUIC}

HOLE, NGINX, SENDER, SERVER = HARMED = (
    *("nix-cache:packages=6,size=50kB", "nix-cache:packages=7,size=200kB"),
    *("rist:duration=5", "quic:size=20MB,connections=3"),
)
SPARED = ("nix-cache:packages=5,size=50kB", "rist:duration=2", "quic:size=1MB,connections=3")
"""What follows in the same laboratory, and nobody harms."""


@pytest.fixture(scope="module")
def trials(tmp_path_factory: pytest.TempPathFactory) -> dict[str, TrialResult]:
    """All trials by their workload, of one shard."""
    files = payload.runner_files()
    for name, code in HARM.items():
        files[f"tunbench/runner/workloads/{name}/__init__.py"] += KILL + code
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(payload, "runner_files", lambda *_: files)
        text = plan(["none"], '["baseline"]', [*HARMED, *SPARED])
        record = execute(tmp_path_factory.mktemp("harmed") / "run", text, workers=1)
    return {str(trial.cell["workload"]): trial for trial in record.trials}


def kept(trial: TrialResult, metric: str) -> list[float]:
    """What a trial has of a metric as a whole, or else at each moment of it."""
    found = [(row["at"], row["value"]) for row in trial.rows if row["metric"] == metric]
    return [value for at, value in found if at is None] or [value for _, value in found]


def test_a_cache_that_answers_404_has_failed_and_its_requests_are_kept(trials: dict[str, TrialResult]) -> None:
    trial = trials[HOLE]
    assert trial.verdict == "failed"
    assert re.search(r"nix ended with status 1 after .*refused ones by 404: /\w{32}\.narinfo$", trial.reason)
    [requests] = kept(trial, "requests")
    assert f"{requests:g} requests were answered, with " in trial.reason and 2 <= requests < 2 * 6
    assert kept(trial, "duration") == []


def test_nginx_that_dies_in_a_download_has_failed_and_its_requests_are_kept(trials: dict[str, TrialResult]) -> None:
    trial = trials[NGINX]
    assert trial.verdict == "failed"
    assert trial.reason.startswith("nix ended with status 1 after ")
    [arrived] = re.findall(r"; \d+ requests were answered, with (\d+) of", trial.reason)
    assert 0 < int(arrived) < 7 * 200_000
    [requests] = kept(trial, "requests")
    assert 7 < requests < 1 + 2 * 7 and kept(trial, "duration") == []


def test_a_sender_of_video_that_dies_has_failed_and_what_came_by_then_is_kept(trials: dict[str, TrialResult]) -> None:
    trial = trials[SENDER]
    assert trial.verdict == "failed" and trial.reason.startswith("ristsender ended before the stream did: ")
    [delivered], [quality] = kept(trial, "delivered"), kept(trial, "quality")
    assert delivered == pytest.approx(1 / 5, abs=0.05) and quality == 1.0
    assert len(kept(trial, "rtt")) >= 1


def test_a_quic_server_that_dies_in_a_download_has_failed_and_handshakes_are_kept(
    trials: dict[str, TrialResult],
) -> None:
    trial = trials[SERVER]
    assert trial.verdict == "failed"
    [arrived] = re.findall(r"^at most (\d+) B of the file can have arrived, of 20000000 B; ", trial.reason)
    assert 1_000_000 < int(arrived) < 19_000_000
    assert len(kept(trial, "handshake")) == len(kept(trial, "first-byte")) == 3
    assert kept(trial, "throughput") == kept(trial, "retransmits") == []


@pytest.mark.parametrize("workload", SPARED)
def test_what_follows_is_not_harmed(trials: dict[str, TrialResult], workload: str) -> None:
    assert (trials[workload].verdict, trials[workload].reason) == ("ok", "")
