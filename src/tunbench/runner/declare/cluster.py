"""What others must know of a cluster that a layer has brought up."""

from pathlib import Path
from typing import NamedTuple


class ApiServer(NamedTuple):
    """Where the API server of a cluster is reached: by HTTPS, with the certificate of its authority and a token.

    `kubeconfig` has all of it, as kubectl takes it.
    """

    host: str
    port: int
    authority: Path
    token: Path
    kubeconfig: Path
