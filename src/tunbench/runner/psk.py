"""Pre-shared keys: made in the lab, put into configuration there, and never told."""

from pathlib import Path

from tunbench.runner.node import Node

PLACE = "@PSK@"
"""What stands for the key in a configuration that is written down."""

# Hexadecimal digits mean nothing to sed.
FILL = f'sed "s/{PLACE}/$(cat "$0")/" "$1"'


def make(node: Node, path: Path) -> None:
    """Makes a key of 256 bits, in hexadecimal digits."""
    node.run("openssl", "rand", "-hex", "32", into=path)


def fill(node: Node, key: Path, template: Path, path: Path) -> None:
    """Writes a file that is the template with the key in its place."""
    node.run("sh", "-c", FILL, str(key), str(template), into=path)
