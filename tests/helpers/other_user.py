"""Tunbench as another user has it, in a folder of that user, with nothing of this one's machine changed."""

import os
import pwd
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

NOBODY = 65534

APART = """\
mount --bind "$0/range" /etc/subuid && mount --bind "$0/range" /etc/subgid
mount -t tmpfs -o size=3g,mode=1777 tmpfs "$0/tmp"
exec setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
"""
"""In a namespace of mounts, that user has a range of others, which an unprivileged mmdebstrap needs, and temporary
files in a file system that lists folders in another order."""


def moved_in(home: Path) -> dict[str, str]:
    """Copies Tunbench to a home of that user. Returns the environment in which it is started there.

    Raises PermissionError where this user is not root, who alone gives files away.
    """
    shutil.copytree(Path(__file__).parents[2] / "src", home / "src")
    packages = next(path for path in sys.path if path.endswith("site-packages"))
    shutil.copytree(packages, home / "packages", symlinks=False)
    (home / "range").write_text(f"{pwd.getpwuid(NOBODY).pw_name}:{1 << 20}:{1 << 16}\n")
    (home / "tmp").mkdir()
    for path in [home, *home.rglob("*")]:
        os.chown(path, NOBODY, NOBODY)
    os.chown(home / "range", 0, 0)
    home.chmod(0o755)
    environment = {"PATH": os.environ["PATH"], "XDG_CACHE_HOME": str(home / "cache"), "HOME": str(home)}
    return environment | {"TMPDIR": str(home / "tmp"), "PYTHONPATH": f"{home}/src:{home}/packages"}


def tunbench(
    home: Path, environment: Mapping[str, str], arguments: Sequence[str], umask: int = 0o077
) -> subprocess.CompletedProcess[str]:
    """Executes a command of Tunbench as that user, to its end."""
    argv = ["unshare", "--mount", "sh", "-ec", APART, str(home)]
    return subprocess.run(
        [*argv, "/usr/bin/python3", "-m", "tunbench", *arguments],
        cwd=home,
        env=environment,
        umask=umask,
        capture_output=True,
        text=True,
    )
