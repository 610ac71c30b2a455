"""Secrets for the shard alone: programs make them inside the lab, and no command or file that is journaled has them."""

from pathlib import Path

from tunbench.runner.node.node import Node

PLACEHOLDER = "@SECRET@"
"""What stands for the secret in a text that is journaled."""

FILL = f'secret=$(cat "$1") && printf "s/{PLACEHOLDER}/%s/" "$secret" | sed -f - "$0"'
"""Shell text: prints a file with the secret that is in another one, and has it on no command line."""


def make(node: Node, path: Path, size: int) -> None:
    """Makes a secret of so many random bytes, in hexadecimal digits."""
    node.run("openssl", "rand", "-hex", str(size), into=path)


def fill(node: Node, path: Path, text: str, secret: Path) -> None:
    """Writes a file whose text has PLACEHOLDER where the secret shall stand. The text alone is journaled."""
    template = path.with_name(f"{path.name}.in")
    node.write(template, text)
    node.run("sh", "-c", FILL, str(template), str(secret), into=path)
