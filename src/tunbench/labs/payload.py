"""What a lab is handed: the runner, which is the standard library alone, and what it shall do."""

import hashlib
import shutil
from pathlib import Path

import tunbench

PACKAGE = Path(tunbench.__file__).parent

GUEST = PACKAGE / "labs" / "vm" / "guest"
"""What starts the runner in a VM."""


def runner_files() -> dict[str, bytes]:
    """The runner's modules, by their path below a folder for PYTHONPATH."""
    sources = [PACKAGE / "__init__.py", *sorted((PACKAGE / "runner").rglob("*.py"))]
    return {f"tunbench/{path.relative_to(PACKAGE)}": path.read_bytes() for path in sources}


def digest() -> str:
    """SHA-256 over the runner and what starts it in a VM."""
    whole = hashlib.sha256()
    guest = {f"guest/{path.name}": path.read_bytes() for path in sorted(GUEST.iterdir())}
    for name, content in {**runner_files(), **guest}.items():
        whole.update(f"{name} {len(content)}\n".encode() + content)
    return whole.hexdigest()


def unpack(folder: Path) -> None:
    """Puts the runner into a folder."""
    shutil.rmtree(folder, ignore_errors=True)
    for name, content in runner_files().items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
