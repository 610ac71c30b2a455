"""What a lab is handed: the runner, which is the standard library alone, and what it shall do."""

import hashlib
import shutil
from collections.abc import Iterable
from pathlib import Path

import tunbench
from tunbench.plugins.folder import Plugin, PluginError

PACKAGE = Path(tunbench.__file__).parent

GUEST = PACKAGE / "labs" / "vm" / "guest"
"""What starts the runner in a VM."""


def runner_files(plugins: Iterable[Plugin] = ()) -> dict[str, bytes]:
    """The runner's modules, and beside them those of plug-ins, by their path below a folder for PYTHONPATH."""
    sources = [PACKAGE / "__init__.py", *sorted((PACKAGE / "runner").rglob("*.py"))]
    found = {f"tunbench/{path.relative_to(PACKAGE)}": path.read_bytes() for path in sources}
    for one in plugins:
        brought = {f"tunbench/runner/{path}": content for path, content in one.files}
        if twice := sorted(found.keys() & brought.keys()):
            raise PluginError(f"{one.folder}: the runner has {twice[0]} already; give yours another name")
        found |= brought
    return found


def digest() -> str:
    """SHA-256 over the shipped runner and what starts it in a VM; plug-ins have digests of their own."""
    whole = hashlib.sha256()
    guest = {f"guest/{path.name}": path.read_bytes() for path in sorted(GUEST.iterdir())}
    for name, content in {**runner_files(), **guest}.items():
        whole.update(f"{name} {len(content)}\n".encode() + content)
    return whole.hexdigest()


def unpack(folder: Path, plugins: Iterable[Plugin] = ()) -> None:
    """Puts the runner into a folder, with plug-ins."""
    shutil.rmtree(folder, ignore_errors=True)
    for name, content in runner_files(plugins).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
