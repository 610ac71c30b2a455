"""Files of the machine on which the runner is: how a node there reads and writes its own."""

from contextlib import suppress
from pathlib import Path

MODE = 0o600
"""Files are for root alone: what stands in them may be a secret."""


PIECE = 1 << 16
"""Bytes that are read at first: room for all that a file may have is made at once, and takes longer than reading."""


class LocalFiles:
    """Reads and writes files of this kernel."""

    def read_bytes(self, path: Path, most: int = -1) -> bytes:
        """What is in a file: all of it, or so many bytes at most. Raises OSError."""
        with path.open("rb") as file:
            data = file.read(min(most, PIECE))
            return data + file.read(most - PIECE) if most > PIECE and len(data) == PIECE else data

    def tail(self, path: Path, size: int) -> bytes:
        """The last bytes of a file, of which there may be a great many. Raises OSError."""
        with path.open("rb") as file:
            file.seek(max(0, file.seek(0, 2) - size))
            return file.read()

    def size(self, path: Path) -> int:
        """The bytes of a file. Raises OSError."""
        return path.stat().st_size

    def exists(self, path: Path) -> bool:
        """Whether there is such a file or folder."""
        return path.exists()

    def names(self, folder: Path) -> list[str]:
        """The names in a folder. Raises OSError."""
        return [path.name for path in folder.iterdir()]

    def matching(self, folder: Path, pattern: str) -> list[Path]:
        """The paths in a folder that match a pattern such as `cpu*/online`, sorted; none where there is no folder."""
        return sorted(folder.glob(pattern))

    def write(self, path: Path, text: str) -> None:
        """Writes a file that only root reads, and makes the folder in which it is."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(MODE)
        path.write_text(text)

    def set_value(self, path: Path, text: str) -> None:
        """Sets a value of the kernel's. Raises OSError."""
        path.write_text(text)

    def remove(self, path: Path) -> None:
        """Takes a file away, if it is there."""
        with suppress(FileNotFoundError):
            path.unlink()
