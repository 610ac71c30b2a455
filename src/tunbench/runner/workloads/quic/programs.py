"""The programs that speak QUIC: how each is called, and what its client says as it gets on."""

from collections.abc import Callable
from pathlib import PurePath
from typing import NamedTuple

from tunbench.runner.declare.recipe import GCC, Recipe
from tunbench.runner.declare.tunnel import Addon, Needs
from tunbench.runner.tunnels.shared.certificates import Pair

NGTCP2 = Addon("ngtcp2", ("ngtcp2-client", "ngtcp2-server"))

QUINN = Recipe(
    "quinn",
    version="0.11.12",
    language="rust",
    parts={"quinn-client": "quinn", "quinn-server": "quinn"},
    oldest="1.85",
    seconds=155,
    space=0.5e9,
    calls=GCC,
    examples={"quinn-client": "client", "quinn-server": "server"},
)

HANDSHAKE_TIMEOUT = 10
"""Seconds after which gtlsclient gives up a handshake: it is what it has unless it is told."""


WRITING_ALL = """trap 'kill -INT $!' TERM; (trap '' TERM; exec "$@") & wait; wait"""
"""Shell text: runs a server that writes the rest of its log where SIGINT ends it, and not where SIGTERM does."""


class Marks(NamedTuple):
    """What a client says when it begins, when the handshake is over, and when an answer's first byte is there."""

    begins: str
    handshake: str
    first_byte: str
    failed: str

    @property
    def any(self) -> str:
        """One pattern for all of them."""
        return "|".join(self)


class Served(NamedTuple):
    """A server's address and port as both ends name them, the folder it serves, and its certificate."""

    local_host: str
    host: str
    address: str
    port: str
    root: PurePath
    pair: Pair
    authority: PurePath

    def url(self, file: str) -> str:
        """Where a file is."""
        return f"https://{self.host}:{self.port}/{file}"


class Implementation(NamedTuple):
    """What stands for `impl`: what it needs, and what it says. `congestion` are its algorithms.

    `server` gives the server's command, from what is served, the algorithm, and the folder in which it notes each
    packet if it shall. `client` gives the client's, from what is served, a file, the folder for it if it shall be
    kept, and whether to be quiet. What is kept has the file's name there, or is what the client prints (`prints`).

    A client that `says_when` it has everything is believed: it stays for a while. Another ends as it has everything.
    Where one `logs`, its server can tell which packets it took for lost.
    """

    needs: Needs
    marks: Marks
    congestion: tuple[str, ...]
    server: Callable[[Served, str, PurePath | None], list[str]]
    client: Callable[[Served, str, PurePath | None, bool], list[str]]
    says_when: bool
    prints: bool
    logs: bool


def gtlsserver(served: Served, congestion: str, log_folder: PurePath | None) -> list[str]:
    """The server of ngtcp2."""
    noted = ("--qlog-dir", str(log_folder)) if log_folder else ()
    return [
        *(("sh", "-c", WRITING_ALL, "gtlsserver") if log_folder else ()),
        *("gtlsserver", "-q", "--htdocs", str(served.root), f"--cc={congestion}", *noted),
        *(served.local_host.strip("[]"), served.port, str(served.pair.key), str(served.pair.certificate)),
    ]


def gtlsclient(served: Served, file: str, folder: PurePath | None, quiet: bool) -> list[str]:
    """The client of ngtcp2, which writes a file."""
    said = ("-q",) if quiet else ("--no-quic-dump", "--no-http-dump")
    return [
        *("gtlsclient", *said, "--exit-on-all-streams-close", f"--handshake-timeout={HANDSHAKE_TIMEOUT}s"),
        *(("--download", str(folder)) if folder else ()),
        *(served.address, served.port, served.url(file)),
    ]


def quinn_server(served: Served, congestion: str, log_folder: PurePath | None) -> list[str]:
    """The server of quinn, which has one algorithm and notes nothing."""
    where = ("--listen", f"{served.local_host}:{served.port}", str(served.root))
    return ["quinn-server", "--key", str(served.pair.key), "--cert", str(served.pair.certificate), *where]


def quinn_client(served: Served, file: str, folder: PurePath | None, quiet: bool) -> list[str]:
    """The client of quinn, which writes to its output, and says no less if it shall be quiet."""
    bind = "[::]:0" if ":" in served.address else "0.0.0.0:0"
    return ["quinn-client", "--ca", str(served.authority), "--bind", bind, served.url(file)]


IMPLEMENTATIONS = {
    "ngtcp2": Implementation(
        Needs(programs=("gtlsclient", "gtlsserver"), addons=(NGTCP2.name,)),
        Marks(
            r"pkt tx pkn=0 .*type=Initial",
            r"QUIC handshake has completed",
            r"frm rx \d+ 1RTT STREAM\(0x0[89a-f]\) id=0x0 .*offset=0 ",
            r"ERR_[A-Z_]+",
        ),
        congestion=("cubic", "reno", "bbr", "bbr2"),
        server=gtlsserver,
        client=gtlsclient,
        says_when=False,
        prints=False,
        logs=True,
    ),
    "quinn": Implementation(
        Needs(programs=("quinn-client", "quinn-server"), tools=(QUINN.name,)),
        Marks(r"connecting to", r"connected at", r"response received in", r"ERROR: "),
        congestion=("cubic",),
        server=quinn_server,
        client=quinn_client,
        says_when=True,
        prints=True,
        logs=False,
    ),
}
