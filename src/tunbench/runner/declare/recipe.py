"""How a tool of the toolbox is built: a program that Debian lacks, from the sources in a public registry."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, NamedTuple


class Recipe(NamedTuple):
    """The tool of a name and version.

    `seconds` of one free core, and `space`, bytes on the disk at most with what is fetched, are what building took with
    Go 1.26 and Rust 1.95.
    """

    name: str
    version: str
    language: Literal["go", "rust"]
    # What each of its programs is built from: a folder of the Go module, or a crate.
    parts: Mapping[str, str]
    # What its go.mod says, or the newest Rust that one of its crates and their locked dependencies ask for.
    oldest: str
    seconds: int
    space: float
    module: str = ""
    # The version under which the registry has it, where its makers count otherwise.
    registered: str = ""
    # Modules that its go.mod takes from folders which the module's archive lacks, and which are published as well: how
    # the paths of these folders begin, and the version at which their modules take the place.
    published: Mapping[str, str] = MappingProxyType({})
    # Programs that link C code: SQLite.
    cgo: tuple[str, ...] = ()
    # Variables of the Go program that hold its version, or what stands behind the "=".
    stamps: tuple[str, ...] = ()
    # Programs that the build calls, and Debian's packages that bring them with what they need.
    calls: Mapping[str, str] = MappingProxyType({})
    # Programs that a crate has as an example alone, and the example's name.
    examples: Mapping[str, str] = MappingProxyType({})

    @property
    def programs(self) -> tuple[str, ...]:
        """The programs that it holds."""
        return tuple(self.parts)


PROTOC = {"protoc": "protobuf-compiler libprotobuf-dev"}
"""What /usr/include and protoc bring that a crate's build asks for."""

GCC = {"gcc": "gcc libc6-dev"}
