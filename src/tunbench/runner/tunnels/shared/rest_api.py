"""Asks a control plane by its JSON interface over HTTPS, on a node. Secrets in its answers go to files."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from tunbench.runner.declare.topology import CONTROL
from tunbench.runner.node.command import ShellWord
from tunbench.runner.node.node import Node
from tunbench.runner.tunnel import Tunnel

# The lab has no other program that speaks HTTP with every method.
PROGRAM = '''\
"""Prints one value of a JSON answer: METHOD URL FIELD AUTHORITY SCHEME TOKEN-FILE BODY-FILE, "-" for none.

The field is a path: names and numbers, and NAME=VALUE for the one in a list that has it.
"""

import json
import ssl
import sys
import urllib.error
import urllib.request

method, url, field, authority, scheme, token, body = sys.argv[1:]
headers = {"Content-Type": "application/json"}
if token != "-":
    headers["Authorization"] = f"{scheme} {open(token).read().strip()}"
data = open(body, "rb").read() if body != "-" else None
request = urllib.request.Request(url, data, headers, method=method)
try:
    with urllib.request.urlopen(request, timeout=10, context=ssl.create_default_context(cafile=authority)) as answer:
        found = json.loads(answer.read() or "null")
except urllib.error.HTTPError as error:
    sys.exit(f"{method} {url}: {error}: {error.read().decode()}")
except OSError as error:
    sys.exit(f"{method} {url}: {error}")
try:
    for step in field.split("/") if field != "-" else []:
        name, _, value = step.partition("=")
        if value:
            found = next(one for one in found if str(one[name]) == value)
        else:
            found = found[int(name) if isinstance(found, list) else name]
except (KeyError, IndexError, TypeError, ValueError, StopIteration):
    sys.exit(f"{method} {url}: the answer has no {field}")
print(found if field != "-" else "")
'''


class Api(NamedTuple):
    """The interface: the node that asks, where its program lies, the address, and the authority of the certificate.

    `token` is the file of what opens it, which the header Authorization names with its `scheme`.
    """

    node: Node
    program: Path
    url: str
    authority: Path
    scheme: str
    token: Path

    def write(self) -> None:
        """Puts the program where it lies."""
        self.node.write(self.program, PROGRAM)

    def words(
        self,
        method: str,
        path: str,
        field: str = "-",
        body: Path | None = None,
        which: Path | None = None,
        opened: bool = True,
    ) -> tuple[str, ...]:
        """The command that asks and prints that field of the answer; without being `opened` it shows no token.

        `which` is a file with the end of the path, such as an identifier that differs each time.
        """
        return (
            *("python3", "-I", str(self.program), method, self._at(path, which), field, str(self.authority)),
            *(self.scheme, str(self.token) if opened else "-", str(body) if body else "-"),
        )

    def _at(self, path: str, which: Path | None) -> str:
        text = f"{self.url}{path}"
        return ShellWord(text + self.node.read(which).strip(), f'"{text}$(cat {which})"') if which else text

    def body(self, file: Path, value: Mapping[str, object]) -> Path:
        """Writes what a request shall say into a file, and returns that."""
        self.node.write(file, json.dumps(value) + "\n")
        return file

    def ask(
        self,
        method: str,
        path: str,
        field: str = "-",
        body: Path | None = None,
        which: Path | None = None,
        into: Path | None = None,
    ) -> str:
        """Asks, and returns that field of the answer, or lets it go into a file. Raises CommandFailed."""
        return self.node.run(*self.words(method, path, field, body, which), into=into).strip()


def of_control_plane(tunnel: Tunnel, control: Node, scheme: str, token: Path) -> Api:
    """The interface of the server on the node `control`, whose certificate is of the authority `ca` there."""
    url = f"https://{tunnel.context.roles[CONTROL].address}/api"
    return Api(control, tunnel.file(CONTROL, "ask.py"), url, tunnel.file(CONTROL, "ca.crt"), scheme, token)
