"""Packs programs: an image for the vm lab, a folder for the native one, and a manifest."""

import shutil
import tarfile
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tunbench.labs import image
from tunbench.labs.vm import image_build
from tunbench.labs.vm.image_definition import BASE
from tunbench.toolbox import libraries

PROGRAMS = "usr/local/bin"
LIBRARIES = "usr/lib/x86_64-linux-gnu"
"""A folder in which the dynamic loader looks without being told (ld.so(8))."""

FIRST = "usr/sbin"
"""The folder in which the lab looks first: what lies there is taken before what Debian or a tool has of that name."""


def pack(programs: Sequence[Path], folder: Path, head: Mapping[str, Any], where: str = PROGRAMS) -> None:
    """Fills a folder with `bin`, the image and the manifest, which has `head`. Raises ToolError and ImageError.

    In the image the programs lie in the folder `where`.

    Libraries that the base image lacks go along in the image; the native lab has those of its machine.
    """
    lacking = libraries.missing_in_base(programs)
    (folder / "bin").mkdir()
    for program in programs:
        shutil.copyfile(program, folder / "bin" / program.name)
        (folder / "bin" / program.name).chmod(0o755)
    files = {f"{where}/{program.name}": program for program in programs}
    files |= {f"{LIBRARIES}/{library.name}": library for library in lacking}
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        tree = Path(scratch) / "tree.tar"
        _archive(files, tree)
        image_build.compress(tree, folder / "image.squashfs")
    beside = {"libraries": [library.name for library in lacking]} if lacking else {}
    image.write_manifest(folder, {**head, **beside}, {})


def _archive(files: Mapping[str, Path], tree: Path) -> None:
    """A tar archive of the files with all folders above them: sorted, of root, with the image's one time."""
    above = {str(parent) for name in files for parent in Path(name).parents if str(parent) != "."}
    with tarfile.open(tree, "w", format=tarfile.PAX_FORMAT) as out:
        for name in sorted({*above, *files}):
            member = tarfile.TarInfo(name)
            member.mode, member.mtime = 0o755, BASE.source_date_epoch
            if name in above:
                member.type = tarfile.DIRTYPE
                out.addfile(member)
            else:
                member.size = files[name].stat().st_size
                with files[name].open("rb") as content:
                    out.addfile(member, content)
