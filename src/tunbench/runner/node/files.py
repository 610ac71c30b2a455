"""Files of the machine on which the runner is: how a node there reads and writes its own.

Probes read while something is measured, so what they use asks the kernel for as little as can be.
"""

import os
from contextlib import suppress
from pathlib import Path

ROOT_ONLY = 0o600
"""Files are for root alone: what stands in them may be a secret."""

READ_SIZE = 1 << 16
"""Bytes that are read at once: most files of the kernel are smaller."""


class LocalFiles:
    """Reads and writes files of this kernel."""

    def read_bytes(self, path: str, most: int | None = None) -> bytes:
        """What is in a file: all of it, or up to the piece with which it is more than so many bytes. Raises OSError."""
        pieces, size = [], 0
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            while (most is None or size <= most) and (piece := os.read(file, READ_SIZE)):
                pieces.append(piece)
                size += len(piece)
        finally:
            os.close(file)
        return b"".join(pieces)

    def tail(self, path: str, size: int) -> bytes:
        """The last bytes of a file, of which there may be a great many. Raises OSError."""
        with Path(path).open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - size))
            return file.read()

    def size(self, path: str) -> int:
        """The bytes of a file. Raises OSError."""
        return Path(path).stat().st_size

    def exists(self, path: str) -> bool:
        """Whether there is such a file or folder."""
        return Path(path).exists()

    def names(self, folder: str) -> list[str]:
        """The names in a folder. Raises OSError."""
        return os.listdir(folder)  # noqa: PTH208 (half the time of a Path)

    def matching(self, folder: str, pattern: str) -> list[str]:
        """The paths below a folder that match a pattern such as `cpu*/online`, sorted; none where it is not there."""
        return sorted(str(path.relative_to(folder)) for path in Path(folder).glob(pattern))

    def write(self, path: str, text: str) -> None:
        """Writes a file that only root reads, and makes the folder in which it is."""
        file = Path(path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch(ROOT_ONLY)
        file.write_text(text)

    def set_value(self, path: str, text: str) -> None:
        """Sets a value of the kernel's. Raises OSError."""
        file = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.write(file, text.encode())
        finally:
            os.close(file)

    def remove(self, path: str) -> None:
        """Takes a file away, if it is there."""
        with suppress(FileNotFoundError):
            Path(path).unlink()
