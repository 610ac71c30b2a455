"""Debian's packages of an image: which versions of them there are, and a repository that has these and nothing else.

apt installs in an order that depends on all that its sources list. From a repository of an image's own packages, the
same versions are installed in the same order, whatever else a mirror has by then.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterable, Mapping
from hashlib import sha256
from pathlib import Path

from tunbench.labs.image import ImageError
from tunbench.labs.vm.image_definition import Definition

Progress = Callable[[str], None]

Versions = Mapping[str, str]
"""Of each package, by its name."""

NAME_A_MIRROR = "name a mirror of Debian, with: tunbench lab build --mirror URL"

MAX_NAMED = 10
"""Packages that a message names."""

KEYRINGS = {"/usr/share/keyrings": "debian-archive-*.gpg", "/etc/apt/trusted.gpg.d": "*.*"}
"""Where keys are that this machine trusts, and those of Debian's archive."""

CONFIGURATION = """\
Dir::State "{folder}/state";
Dir::State::status "{folder}/status";
Dir::Cache "{folder}/cache";
Dir::Etc::sourcelist "{folder}/sources.list";
Dir::Etc::sourceparts "{folder}/sources.list.d";
Dir::Etc::trustedparts "{folder}/keys";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
APT::Architecture "{architecture}";
APT::Architectures "{architecture}";
APT::Install-Recommends "false";
APT::Install-Suggests "false";
Acquire::Languages "none";
"""
"""Of an apt with nothing installed and nothing preferred, whatever this machine has."""

ALWAYS = ("?essential", "?priority(required)")
"""What every Debian has, as apt's patterns."""


class PackagesGone(ImageError):
    """A mirror does not have the versions that were asked for."""


class Mirror:
    """What apt finds in the sources of an image, in a folder of its own. Raises ImageError where it is not reached."""

    def __init__(self, definition: Definition, folder: Path, mirror: str) -> None:
        self.definition = definition
        self.folder = folder
        for part in ("state/lists/partial", "cache/archives/partial", "sources.list.d", "keys"):
            (folder / part).mkdir(parents=True)
        (folder / "status").touch()
        (folder / "conf").write_text(CONFIGURATION.format(folder=folder, architecture=definition.architecture))
        _write_sources(folder, definition.suite, mirror)
        for keys, pattern in KEYRINGS.items():
            for file in Path(keys).glob(pattern):
                shutil.copy(file, folder / "keys")
        self.apt("apt-get", "update", "--error-on=any", mend=f"\n{NAME_A_MIRROR}")

    def apt(self, *argv: str, folder: Path | None = None, mend: str = "") -> str:
        """What a command of apt prints. Raises ImageError where it fails, with the mend, if there is one."""
        environment = os.environ | {"APT_CONFIG": str(self.folder / "conf"), "LC_ALL": "C"}
        try:
            done = subprocess.run(
                argv,
                cwd=folder or self.folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
            )
        except OSError as error:
            raise ImageError(
                f"{argv[0]} cannot be started: {error.strerror}; install it with the package apt"
            ) from None
        if done.returncode != 0:
            words = "\n".join(done.stderr.splitlines()[-20:])
            raise ImageError(f"{' '.join(argv[:2])} ended with status {done.returncode}:\n{words}{mend}")
        return done.stdout

    def newest(self, packages: Iterable[str]) -> dict[str, str]:
        """The versions of these packages, of what they need and of what every Debian has. Raises ImageError."""
        suite, architecture = self.definition.suite, self.definition.architecture
        of_suite = f"?or(?archive(^{suite}$),?codename(^{suite}$)),?architecture({architecture})"
        always = [f"?narrow({of_suite},{pattern})" for pattern in ALWAYS]
        printed = self.apt("apt-get", "install", "--simulate", "--yes", *always, *packages)
        return dict(re.findall(r"^Inst (\S+) \((\S+) ", printed, re.MULTILINE))

    def check(self, image: str, versions: Versions) -> None:
        """Raises PackagesGone where some of these versions of an image are not there, and names them."""
        printed = self.apt("apt-cache", "madison", *versions)
        rows = (line.split("|") for line in printed.splitlines())
        there = {(fields[0].strip(), fields[1].strip()) for fields in rows if len(fields) > 1}
        if gone := [f"{name} {version}" for name, version in versions.items() if (name, version) not in there]:
            more = f" and {len(gone) - MAX_NAMED} more" if len(gone) > MAX_NAMED else ""
            raise PackagesGone(
                f"the mirror no longer has {len(gone)} of the {len(versions)} packages of the image {image}: "
                f"{', '.join(gone[:MAX_NAMED])}{more}; name one that keeps them, such as an archive of old states, "
                f"with --mirror, or build it of today's with: tunbench lab build --force {self.definition.name}"
            )

    def fetch(self, images: Iterable[Versions], repository: Path) -> None:
        """Puts the packages of all images into a folder. Raises ImageError."""
        repository.mkdir()
        named = {f"{name}={version}" for versions in images for name, version in versions.items()}
        self.apt("apt-get", "download", *sorted(named), folder=repository)


def write_index(repository: Path, versions: Versions) -> None:
    """Makes a repository of these packages of a folder, sorted by their names. Raises ImageError."""
    found = {}
    for file in repository.glob("*.deb"):
        control = _control_of(file)
        fields = dict(re.findall(r"^(Package|Version): (\S+)$", control, re.MULTILINE))
        digest = sha256(file.read_bytes()).hexdigest()
        found[fields["Package"], fields["Version"]] = (
            f"{control.strip()}\nFilename: ./{file.name}\nSize: {file.stat().st_size}\nSHA256: {digest}\n"
        )
    (repository / "Packages").write_text("\n".join(found[pair] for pair in sorted(versions.items())))
    # Whoever installs reads it as another user, whatever the mask of this one.
    for path in (repository, *repository.iterdir()):
        path.chmod(0o755 if path.is_dir() else 0o644)


def _control_of(file: Path) -> str:
    """What a package says of itself. Raises ImageError."""
    done = subprocess.run(["dpkg-deb", "--field", str(file)], capture_output=True, text=True)
    if done.returncode != 0:
        raise ImageError(f"{file.name} cannot be read: {done.stderr.strip()}")
    return done.stdout


def _write_sources(folder: Path, suite: str, mirror: str) -> None:
    """A mirror is a URL, a line of a sources.list, or such a file, in one of its two forms.

    Without one they are the machine's own. Raises ImageError where it has none, or where there is no such file.
    """
    if mirror.startswith(("/", ".")) and not Path(mirror).is_file():
        raise ImageError(f"--mirror {mirror}: there is no such file; {NAME_A_MIRROR}")
    if Path(mirror).is_file():
        named = "sources.list.d/named.sources" if mirror.endswith(".sources") else "sources.list"
        shutil.copy(mirror, folder / named)
    else:
        lines = [mirror if mirror.startswith("deb ") else f"deb {mirror} {suite} main"] if mirror else []
        lines = lines or machine_sources(suite)
        if not lines:
            raise ImageError(
                f"apt knows no source of Debian {suite} (main) on this machine; where it has one, run apt-get update, "
                "else name a mirror of Debian with: tunbench lab build --mirror URL"
            )
        (folder / "sources.list").write_text("".join(f"{line}\n" for line in lines))


def machine_sources(suite: str) -> list[str]:
    """The machine's own apt sources of Debian's main component for the suite, as lines of a sources.list."""
    if not shutil.which("apt-get"):
        return []
    fields = ("REPO_URI", "RELEASE", "COMPONENT", "ORIGIN")
    listed = subprocess.run(
        ["apt-get", "indextargets", "--format", " ".join(f"$({field})" for field in fields), "Created-By: Packages"],
        capture_output=True,
        text=True,
    ).stdout
    rows = sorted({tuple(line.split(" ", 3)) for line in listed.splitlines()})
    return [
        f"deb {uri} {release} {component}"
        for uri, release, component, origin in (row for row in rows if len(row) == 4)
        if origin == "Debian" and component == "main" and release.split("-")[0] == suite
    ]
