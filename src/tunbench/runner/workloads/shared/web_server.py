"""nginx for as long as a workload needs it: it serves the files of a folder, over TLS where it has a certificate."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tunbench.runner.node.node import Node
from tunbench.runner.tunnels.shared import nginx
from tunbench.runner.tunnels.shared.certificates import Pair
from tunbench.runner.workloads.shared.server_process import serving

FILES = """\
    {log}
    default_type application/octet-stream;
    sendfile on;
    tcp_nopush on;
    # One connection may carry all requests.
    keepalive_requests 100000;
    server {{
        listen {host}:{port}{tls};
        root {folder}/root;
    }}
"""

LOG = """\
log_format short '{format}';
    access_log {folder}/access.log short;"""

TLS = """\
 ssl;
        ssl_protocols TLSv1.2 TLSv1.3;
        ssl_certificate {pair.certificate};
        ssl_certificate_key {pair.key}"""


@contextmanager
def serving_files(
    node: Node, folder: Path, host: str, port: str, pair: Pair | None = None, log_format: str = ""
) -> Iterator[None]:
    """Serves what lies in `root` of a folder; with a format, each request is a line of its access.log.

    Raises WorkloadFailed where nginx does not listen.
    """
    file = folder / "nginx.conf"
    log = LOG.format(folder=folder, format=log_format) if log_format else "access_log off;"
    tls = TLS.format(pair=pair) if pair else ""
    files = FILES.format(folder=folder, host=host, port=port, log=log, tls=tls)
    node.write(file, nginx.configuration(folder, files))
    with serving(node, "nginx", "-e", "stderr", "-p", f"{folder}/", "-c", str(file), log="nginx", port=port):
        yield
