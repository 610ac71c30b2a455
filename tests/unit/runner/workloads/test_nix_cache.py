"""A Nix binary cache that is made from a seed, and what its download must have left behind."""

import hashlib
import json
import re
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.helpers.fakes import Answer, Call, FakeEvents, FakeShell, captured, move_home, two_nodes
from tunbench.runner import invocation, registry
from tunbench.runner.declare.failures import WorkloadFailed
from tunbench.runner.declare.options import resolve
from tunbench.runner.network.underlay import PAIR_UNDERLAYS
from tunbench.runner.node.shell import Result
from tunbench.runner.workload import Sample, Trial
from tunbench.runner.workloads import nix_cache
from tunbench.runner.workloads.nix_cache import cache_files, download
from tunbench.runner.workloads.nix_cache.download import Made

TOP = f"/nix/store/{'0' * 32}-package-0"
CACHE = Made(TOP, 2, 30)
LOG = (
    "200 GET 52 /nix-cache-info\n"
    "200 GET 300 /aaa.narinfo\n200 GET 290 /bbb.narinfo\n"
    "200 GET 10 /nar/1.nar\n200 GET 20 /nar/2.nar\n"
)
STORE = json.dumps([{"path": "/nix/store/aaa", "narSize": 10}, {"path": "/nix/store/bbb", "narSize": 20}])


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    return move_home(monkeypatch, tmp_path)


def test_a_hash_is_spelled_as_nix_spells_it() -> None:
    # What `nix-hash --flat --base32 --type sha256 /dev/null` prints.
    assert cache_files.base32(hashlib.sha256(b"").digest()) == "0mdqa9w1p6cmli6976v4wi0sw9r4p5prkj7lzfd1877wk11c9c73"


def test_an_archive_has_words_of_eight_bytes() -> None:
    data = cache_files.archive(b"hello")
    assert data[:24] == b"\r\0\0\0\0\0\0\0nix-archive-1\0\0\0"
    assert len(data) % 8 == 0 and b"\x05\0\0\0\0\0\0\0hello\0\0\0" in data


def test_a_cache_follows_from_its_seed_alone(tmp_path: Path) -> None:
    made = [cache_files.make(tmp_path / name, 12, 2000, seed) for name, seed in (("one", 7), ("two", 7), ("three", 8))]
    one, same, other = (
        {f.relative_to(tmp_path / name) for f in (tmp_path / name).rglob("*")} for name in ("one", "two", "three")
    )
    assert one == same and one != other and made[0] == made[1]
    for file in (tmp_path / "one").rglob("*.nar*"):
        if file.is_file():
            assert file.read_bytes() == (tmp_path / "two" / file.relative_to(tmp_path / "one")).read_bytes()


def test_what_a_cache_says_of_its_packages_is_true(tmp_path: Path) -> None:
    total = cache_files.make(tmp_path / "cache", 20, 3000, 3)
    said = [dict(re.findall(r"(\w+): (.*)", file.read_text())) for file in (tmp_path / "cache").glob("*.narinfo")]
    names = {one["StorePath"].removeprefix("/nix/store/"): one for one in said}
    assert len(names) == 20 and sum(int(one["NarSize"]) for one in said) == total
    for name, one in names.items():
        data = (tmp_path / "cache" / one["URL"]).read_bytes()
        assert len(data) == int(one["NarSize"]) == int(one["FileSize"])
        assert one["NarHash"] == f"sha256:{cache_files.base32(hashlib.sha256(data).digest())}"
        assert (tmp_path / "cache" / f"{name[:32]}.narinfo").exists()
    # All are needed by the first, and none needs itself through others.
    reached: set[str] = set()
    waiting = [next(name for name in names if name.endswith("-package-0"))]
    while waiting:
        reached.add(now := waiting.pop())
        waiting += [one for one in names[now]["References"].split() if one not in reached]
    assert reached == set(names)


def test_sizes_are_spread_and_have_the_mean_that_was_asked_for() -> None:
    found = cache_files.sizes(200, 50_000, 1)
    assert sum(found) == pytest.approx(200 * 50_000, rel=1e-4)
    assert 20 < max(found) / min(found) < 2000


def test_what_nix_and_nginx_told_of_a_real_download() -> None:
    cache = Made(TOP, 4, 2536 + 36616 + 30008 + 11304)
    samples = download.parse(captured("nix-access.log"), captured("nix-store.json"), cache, 0.4)
    assert samples == [Sample("duration", 0.4), Sample("requests", 11)]


def test_a_download_has_its_time_and_its_requests() -> None:
    assert download.parse(LOG, STORE, CACHE, 1.5) == [Sample("duration", 1.5), Sample("requests", 5)]


@pytest.mark.parametrize(
    ("log", "store", "reason"),
    [
        (LOG.replace("10 /nar/1", "9 /nar/1"), STORE, "nginx sent 2 archives of 29 B, and the cache has 2 of 30 B"),
        (LOG.replace("200 GET 10", "404 GET 10"), STORE, "nginx sent 1 archives of 20 B, and the cache has 2 of 30 B"),
        (LOG.replace("200 GET 290", "404 GET 290"), STORE, "nginx sent 1 descriptions of 2 packages"),
        (LOG[:-3], STORE, "is torn"),
        (LOG + "no request\n", STORE, "nginx logged 'no request'"),
        (LOG, STORE.replace("20", "21"), "the store has 2 packages of 31 B, and the cache 2 of 30 B"),
        (LOG, "[]", "the store has 0 packages of 0 B, and the cache 2 of 30 B"),
        (LOG, STORE.replace('"narSize": 10', '"valid": false'), "nix tells of no sound package"),
        (LOG, STORE.replace("20", "-20"), "nix tells of a package of -20 B"),
        (LOG, "{}", "nix printed JSON that is no list of objects"),
    ],
)
def test_bytes_that_are_not_those_of_the_cache_are_no_result(log: str, store: str, reason: str) -> None:
    with pytest.raises(WorkloadFailed, match=re.escape(reason)):
        download.parse(log, store, CACHE, 1.5)


def test_what_had_come_by_the_failure_is_told() -> None:
    broken = LOG.replace("200 GET 20 /nar/2.nar", "404 GET 153 /nar/2.nar") + "200 GE"
    assert download.in_words(broken, CACHE) == (
        "5 requests were answered, with 10 of 30 B in 1 archives, the first of 1 refused ones by 404: /nar/2.nar"
    )


@pytest.mark.parametrize("text", ["", "/nix/store/x 5\n", f"{TOP} 5", f"{TOP} -5\n"])
def test_a_cache_that_was_not_made_is_told(text: str) -> None:
    with pytest.raises(WorkloadFailed, match="the cache was not made"):
        download.made(text, 2)


def test_nix_needs_an_image_of_its_own_and_nginx_none() -> None:
    module = registry.workload("nix-cache")
    options = resolve(module.ABOUT.options, {}, "nix-cache")
    assert module.needs(options).addons == ("nix",)
    assert module.needs(options).programs == ("nix",)
    assert "nginx" in module.ABOUT.programs


class Done(NamedTuple):
    """A trial that was executed: why it failed, if it did, and what the nodes were told to do."""

    trial: Trial
    reason: str
    shell: FakeShell


def executed(
    result: Result, log: str = LOG, given: dict[str, str] | None = None, store: str = STORE, size: int = CACHE.size
) -> Done:
    """A download whose nix ends so, and of which nginx logs that."""

    def serve(call: Call, _: Path) -> int:
        folder = Path(call.argv[call.argv.index("-p") + 1])
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "access.log").write_text(log)
        return 0

    answers: dict[str, Answer] = {
        "cache_files.py": f"{TOP} {size}\n",
        "ss -H": "LISTEN 0 511 10.0.2.2:8180 0.0.0.0:*\n",
        "path-info": store,
        "nix-command": result,
    }
    shell = FakeShell(answers, {"nginx": serve})
    client, server = two_nodes(shell, FakeEvents())
    options = resolve(nix_cache.ABOUT.options, {"packages": "2", **(given or {})}, "nix-cache")
    trial = Trial(options, client, server, PAIR_UNDERLAYS["ip"].endpoints)
    reason = ""
    try:
        nix_cache.execute(trial)
    except WorkloadFailed as why:
        reason = str(why)
    return Done(trial, reason, shell)


def test_a_download_by_nix_from_nginx() -> None:
    trial, reason, shell = executed(Result(0, "", ""))
    assert reason == ""
    assert [one.metric for one in trial.samples] == ["duration", "requests"]
    [copy] = [call.argv for call in shell.calls if "copy" in call.argv]
    words = " ".join(copy)
    assert "nix --extra-experimental-features nix-command" in words
    assert "copy --from http://10.0.2.2:8180 --to local?root=" in words and words.endswith(TOP)
    assert "--option require-sigs false" in words and "--option build-users-group  " in words
    assert set(trial.outputs) == {"access.log", "store.json"}


def test_a_download_over_tls_knows_the_certificate_of_the_shard() -> None:
    _, reason, shell = executed(Result(0, "", ""), given={"tls": "on"})
    assert reason == ""
    commands = [" ".join(call.argv) for call in shell.calls]
    assert any("subjectAltName=IP:10.0.2.2" in one for one in commands)
    assert any("NIX_SSL_CERT_FILE=" in one and "--from https://10.0.2.2:8180" in one for one in commands)


@pytest.mark.parametrize(
    ("result", "reason"),
    [
        (
            Result(1, "", "error: path is not valid\n"),
            "nix ended with status 1 after .* s: error: path is not valid; 5",
        ),
        (Result(None, "", ""), "nix did not end within 900 s; 5 requests were answered, with 30 of 30 B in 2 archives"),
    ],
)
def test_a_download_that_fails_says_what_had_come(result: Result, reason: str) -> None:
    trial, said, _ = executed(result)
    assert re.match(reason, said)
    assert trial.samples == [Sample("requests", 5)]
    assert trial.outputs["access.log"] == LOG


def test_a_download_that_nix_takes_for_whole_and_nginx_does_not_has_no_sample() -> None:
    trial, reason, _ = executed(Result(0, "", ""), log=LOG.replace("200 GET 10", "404 GET 10"))
    assert reason == "nginx sent 1 archives of 20 B, and the cache has 2 of 30 B"
    assert trial.samples == [] and set(trial.outputs) == {"access.log", "store.json"}


BROKEN = [
    (
        "missing",
        "does not exist in binary cache",
        10,
        "10 requests were answered, with 0 of 1200696 B in 0 archives, the",
    ),
    ("absent", "there is no substituter that can build it", 2, "the first of 1 refused ones by 404: /z5gl5d3mr5jx"),
    ("torn", "error: non-zero padding", 14, "14 requests were answered, with 974040 of 1200696 B in 5 archives"),
    ("died", "curl error: Transferred a partial file", 10, "10 requests were answered, with 568096 of 1200696 B in 1"),
]
"""What was captured of a cache that is broken: nix's last words, the requests that nginx logged, and what had come."""


@pytest.mark.parametrize(("name", "said", "requests", "had"), BROKEN)
def test_a_cache_that_is_broken_has_failed_with_what_was_measured(
    name: str, said: str, requests: int, had: str
) -> None:
    log, stderr = captured(f"nix-{name}.log"), captured(f"nix-{name}.stderr")
    trial, reason, shell = executed(Result(1, "", stderr), log, {"packages": "6"}, size=1200696)
    assert reason.startswith("nix ended with status 1 after ") and said in reason and had in reason
    assert trial.samples == [Sample("requests", requests)]
    assert trial.outputs == {"access.log": log, "nix.stderr": stderr}
    assert not any("path-info" in call.argv for call in shell.calls), "of a store that is not whole nothing is asked"


@pytest.mark.parametrize("name", [one[0] for one in BROKEN])
def test_what_is_left_of_a_broken_cache_is_no_result_whatever_the_store_says(name: str) -> None:
    with pytest.raises(WorkloadFailed, match="nginx sent"):
        download.parse(captured(f"nix-{name}.log"), "[]", Made(TOP, 6, 1200696), 1.0)


def test_a_cache_that_no_vm_has_room_for_is_refused() -> None:
    with pytest.raises(ValueError, match="1000 packages of 10000000 B are 10000 MB, and a VM has room for 200 MB"):
        invocation.read("nix-cache:packages=1000,size=10MB")
