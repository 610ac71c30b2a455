"""Packages from a Nix binary cache: nginx serves it, and nix fetches all that one package needs into an empty store."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tunbench.runner.declare.failures import WorkloadFailed
from tunbench.runner.declare.metrics import Metric, Question
from tunbench.runner.declare.options import Option, Options
from tunbench.runner.declare.tunnel import Addon, Needs, Sources
from tunbench.runner.node import python
from tunbench.runner.node.shell import Result
from tunbench.runner.tunnels.shared import certificates
from tunbench.runner.workload import About, Sample, Trial, now
from tunbench.runner.workloads.nix_cache import cache_files, download
from tunbench.runner.workloads.nix_cache.download import Made, parse
from tunbench.runner.workloads.shared.output_bounds import LAST_WORDS
from tunbench.runner.workloads.shared.web_server import serving_files

ABOUT = About(
    name="nix-cache",
    summary="nix downloads packages from a binary cache: how long a user waits, and how many requests it takes",
    options={
        "packages": Option("count", "40", "packages, each needed by another one", low=1, high=1000),
        "size": Option("size", "50kB", "bytes of a package in the mean", low=1, high=10_000_000),
        "tls": Option("switch", "off", "over TLS"),
    },
    metrics={
        "duration": Metric("s", "until all packages are in the store of the client", main=True, followed=True),
        "requests": Metric("count", "requests that were answered", more_is_better=None, question=Question.WIRE),
    },
    programs={"nginx": "nginx-light", "openssl": "openssl"},
    sources=Sources(packages={"nix": "nix-bin"}, addons=(Addon("nix", ("nix-bin",)),)),
    version=("nix", "--version"),
)

PORT = 8180

DOWNLOAD_TIMEOUT = 900.0
"""Seconds that the download may take: the longest of the thesis on mesh VPNs took 547."""

MAKE_TIMEOUT = 120.0
"""Seconds that making the cache may take."""

MOST_BYTES = 200_000_000
"""Bytes of all packages together: both ends keep them, in the 1 GiB of memory that a VM has. Chosen."""

# No daemon, no users that build, no signatures: what is measured is the download. The rest is Nix's default.
SETTINGS = (
    *("--extra-experimental-features", "nix-command"),
    *("--option", "require-sigs", "false"),
    *("--option", "build-users-group", ""),
    *("--option", "sandbox", "false"),
    *("--option", "substitute", "false"),
)


def needs(options: Options) -> Needs:
    """Nix is in an image of its own."""
    return Needs(programs=("nix",), addons=("nix",))


def check(options: Options, given: Mapping[str, str]) -> None:
    """Raises ValueError where a VM has no room for the packages at both ends."""
    packages, size = int(options["packages"]), int(options["size"])
    if packages * size > MOST_BYTES:
        raise ValueError(
            f"nix-cache: {packages} packages of {size} B are {packages * size / 1e6:g} MB, and a VM has room for "
            f"{MOST_BYTES / 1e6:g} MB at each end: take fewer, or smaller ones"
        )


def seconds(options: Options) -> float:
    """About how long it takes, in seconds of the lab's time."""
    packages = float(options["packages"])
    return 0.3 + packages * (0.005 + float(options["size"]) * 3e-8) + (0.3 if options["tls"] else 0)


def execute(trial: Trial) -> None:
    """Makes the cache, serves it, downloads all of it, and looks at what has arrived."""
    port = trial.port(PORT)
    here, there = trial.client.home / f"nix-{port}", trial.server.home / f"nix-cache-{port}"
    scheme = "https" if trial.options["tls"] else "http"
    host = trial.overlays[trial.server.name].host
    try:
        trial.client.run("mkdir", "-p", str(here / "root"))
        cache = _made(trial, there)
        with _server(trial, there, port):
            began = now()
            result = _nix(
                trial, here, there, "copy", "--from", f"{scheme}://{host}:{port}", "--to", _store(here), cache.top
            )
            took = now() - began
        log = trial.server.read_if_there(there / "access.log")
        trial.outputs["access.log"] = log
        _check_result(trial, result, took, log, cache)
        arrived = _nix(trial, here, there, "path-info", "--store", _store(here), "--json", "--all")
        trial.outputs["store.json"] = arrived.stdout
        trial.samples += parse(log, arrived.stdout, cache, took)
    finally:
        # What is in a store may be read, and not changed or removed.
        trial.client.try_run("chmod", "-R", "u+w", str(here))
        trial.client.try_run("rm", "-rf", str(here))
        trial.server.try_run("rm", "-rf", str(there))


def _store(folder: Path) -> str:
    return f"local?root={folder}/root"


def _made(trial: Trial, folder: Path) -> Made:
    """The cache, which follows from the shard's seed: stacks of one seed download the same. Raises WorkloadFailed."""
    node, options = trial.server, trial.options
    program = folder / "cache_files.py"
    node.run("mkdir", "-p", str(folder))
    node.write(program, python.source(cache_files))
    arguments = (str(options["packages"]), str(options["size"]), str(trial.site.seed if trial.site else 0))
    text = node.run(*node.python, str(program), str(folder / "root"), *arguments, timeout=MAKE_TIMEOUT)
    return download.made(text, int(options["packages"]))


@contextmanager
def _server(trial: Trial, folder: Path, port: str) -> Iterator[None]:
    node, host = trial.server, trial.overlays[trial.server.name].local_host
    own = None
    if trial.options["tls"]:
        authority = certificates.authority(node, folder / "authority")
        own = certificates.issue(node, authority, folder / "server", "serverAuth", address=trial.target)
    with serving_files(node, folder, host, port, own, download.LOG_FORMAT):
        yield


def _nix(trial: Trial, here: Path, there: Path, *words: str) -> Result:
    """Nix on the client, which knows nothing of what any nix did before it."""
    environment = (f"HOME={here}", f"NIX_CONF_DIR={here}", f"NIX_SSL_CERT_FILE={there / 'authority.crt'}")
    return trial.client.try_run("env", *environment, "nix", *SETTINGS, *words, timeout=DOWNLOAD_TIMEOUT)


def _check_result(trial: Trial, result: Result, took: float, log: str, cache: Made) -> None:
    """Raises WorkloadFailed where nix did not succeed; what had come by then is told, and its requests are a sample."""
    if result.stderr:
        trial.outputs["nix.stderr"] = result.stderr
    if result.status == 0:
        return
    trial.samples.append(Sample("requests", len(download.whole_lines(log))))
    had = download.in_words(log, cache)
    if result.status is None:
        raise WorkloadFailed(f"nix did not end within {DOWNLOAD_TIMEOUT:g} s; {had}")
    said = result.stderr.strip()[-LAST_WORDS:]
    raise WorkloadFailed(f"nix ended with status {result.status} after {took:.3g} s: {said}; {had}")
