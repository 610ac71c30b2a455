"""The control plane of a cluster on one node: what keeps its objects, the API server, controllers and scheduler."""

import json
from pathlib import Path
from typing import Any

from tunbench.runner.declare.cluster import ApiServer
from tunbench.runner.declare.topology import PLANE
from tunbench.runner.node.node import Node
from tunbench.runner.tunnel import Tunnel
from tunbench.runner.tunnels.shared import certificates, secrets

PORT, STORE_PORT = 6443, 2379

SERVICES = "10.96.0.0/16"
"""The addresses of services; no packet is sent to any."""

TOKENS = '{secret},admin,admin,"system:masters"\n'
"""Who may do what: one user, by a token, in the group that may do all."""

CONTROLLERS = "serviceaccount-controller,serviceaccount-token-controller,root-ca-certificate-publisher-controller"
"""Those without which no pod starts; others would watch what is not there."""

CONTROLLERS_AND_NODES = f"{CONTROLLERS},node-lifecycle-controller"

START_TIMEOUT = 180.0
"""Seconds in which the API server must answer: 12 were seen of a machine that is not slowed."""

PATIENTLY = '"$@" || { sleep 0.5; false; }'
"""Shell text: runs a command that is asked again and again. Starting kubectl costs more than what it waits for."""


def address(layer: Tunnel) -> str:
    """Where the API server is reached."""
    return layer.context.below[PLANE].address


def server(layer: Tunnel) -> ApiServer:
    """The same, with what its clients need."""
    authority, token = Path(f"{layer.file(PLANE, 'ca')}.crt"), layer.file(PLANE, "token")
    return ApiServer(address(layer), PORT, authority, token, kubeconfig(layer))


def kubeconfig(layer: Tunnel) -> Path:
    """How everybody reaches it, with the token."""
    return layer.file(PLANE, "kubeconfig")


def kubectl(layer: Tunnel, *words: str) -> tuple[str, ...]:
    """A command to the API server."""
    return ("kubectl", "--kubeconfig", str(kubeconfig(layer)), *words)


def prepare(layer: Tunnel, node: Node) -> None:
    """Makes keys, certificates, the token and what has it."""
    node.run("mkdir", "-p", str(layer.file(PLANE, "ca").parent))
    ca = certificates.authority(node, layer.file(PLANE, "ca"))
    certificates.issue(node, ca, layer.file(PLANE, "server"), "serverAuth", address=address(layer))
    accounts, public = (str(layer.file(PLANE, name)) for name in ("accounts.key", "accounts.pub"))
    node.run("openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-out", accounts)
    node.run("openssl", "pkey", "-in", accounts, "-pubout", "-out", public)
    token = layer.file(PLANE, "token")
    secrets.make(node, token, 16)
    secrets.fill(node, layer.file(PLANE, "tokens.csv"), TOKENS.format(secret=secrets.PLACEHOLDER), token)
    secrets.fill(node, kubeconfig(layer), json.dumps(_reaching(layer)) + "\n", token)


def _reaching(layer: Tunnel) -> dict[str, Any]:
    server = {"server": f"https://{address(layer)}:{PORT}", "certificate-authority": f"{layer.file(PLANE, 'ca')}.crt"}
    return {
        **{"apiVersion": "v1", "kind": "Config", "current-context": "lab"},
        "clusters": [{"name": "lab", "cluster": server}],
        "users": [{"name": "admin", "user": {"token": secrets.PLACEHOLDER}}],
        "contexts": [{"name": "lab", "context": {"cluster": "lab", "user": "admin"}}],
    }


def serve(layer: Tunnel, node: Node) -> None:
    """Starts all of it, and waits until the API server answers."""
    store, reaching = layer.file(PLANE, "state.db"), f"--kubeconfig={kubeconfig(layer)}"
    layer.start(
        *(node, "kine", "--endpoint", f"sqlite://{store}?_journal=WAL&cache=shared&_busy_timeout=30000"),
        *("--listen-address", f"127.0.0.1:{STORE_PORT}", "--metrics-bind-address", "0"),
    )
    own, accounts = layer.file(PLANE, "server"), layer.file(PLANE, "accounts")
    layer.start(
        *(node, "kube-apiserver", f"--etcd-servers=http://127.0.0.1:{STORE_PORT}"),
        *(f"--service-cluster-ip-range={SERVICES}", f"--bind-address={address(layer)}", f"--secure-port={PORT}"),
        *(f"--advertise-address={address(layer)}", f"--token-auth-file={layer.file(PLANE, 'tokens.csv')}"),
        *(f"--tls-cert-file={own}.crt", f"--tls-private-key-file={own}.key"),
        *(f"--service-account-key-file={accounts}.pub", f"--service-account-signing-key-file={accounts}.key"),
        *("--service-account-issuer=https://kubernetes.default.svc", "--authorization-mode=Node,RBAC"),
        *("--allow-privileged=true", "--profiling=false"),
    )
    ready = kubectl(layer, "get", "--raw", "/readyz")
    layer.wait(node, *patiently(*ready), timeout=START_TIMEOUT, what="the API server did not answer")
    layer.start(
        *(node, "kube-controller-manager", reaching, f"--service-account-private-key-file={accounts}.key"),
        *(f"--root-ca-file={layer.file(PLANE, 'ca')}.crt", "--leader-elect=false"),
        f"--controllers={CONTROLLERS_AND_NODES}",
    )
    layer.start(node, "kube-scheduler", reaching, "--leader-elect=false")


def patiently(*argv: str) -> tuple[str, ...]:
    """A command that is asked again and again, with a pause where it fails."""
    return ("sh", "-c", PATIENTLY, "sh", *argv)


def create(layer: Tunnel, plane: Node, name: str, objects: list[dict[str, Any]]) -> None:
    """Creates objects; who has just been told of a kind may need a moment until it takes one. Raises StackFailed."""
    file = layer.file(PLANE, f"{name}.json")
    plane.write(file, json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}) + "\n")
    asking = patiently(*kubectl(layer, "apply", "--validate=false", "-f", str(file)))
    layer.wait(plane, *asking, timeout=60, what=f"the API server did not take the {name}")
