"""Which packages an image gets, with a real apt and a mirror of small ones."""

import os
from pathlib import Path

import pytest

from tests.helpers.images import SMALL
from tests.helpers.mirrors import ALWAYS, APT, Package, publish
from tunbench.labs.image import ImageError
from tunbench.labs.vm import image_packages
from tunbench.labs.vm.image_packages import Mirror, PackagesGone, machine_sources, write_index

KMOD = Package("kmod", "30", "Depends: libkmod2 (>= 30)\nRecommends: manual\n")
NEEDED, OTHER = Package("libkmod2", "30"), Package("zsh", "5")
STATE = [*ALWAYS, KMOD, NEEDED, Package("manual"), OTHER]
NEWER = [Package("aaa", "9"), OTHER, Package("libkmod2", "1:31"), *ALWAYS, NEEDED, KMOD]


def opened(tmp_path: Path, name: str, packages: list[Package]) -> Mirror:
    return Mirror(SMALL, tmp_path / name, publish(tmp_path / "mirror", packages))


@APT
def test_an_image_has_what_is_asked_for_with_what_that_needs_and_what_every_debian_has(tmp_path: Path) -> None:
    found = opened(tmp_path, "apt", STATE).newest(["kmod"])
    assert found == {"dash": "1.0", "apt-utils": "1.0", "kmod": "30", "libkmod2": "30"}
    assert opened(tmp_path, "later", NEWER).newest(["kmod"])["libkmod2"] == "1:31"


@APT
def test_versions_that_are_no_longer_there_are_named(tmp_path: Path) -> None:
    wanted = {"kmod": "30", "libkmod2": "30", "zsh": "5"}
    mirror = opened(tmp_path, "apt", [*ALWAYS, KMOD._replace(version="31"), NEEDED])
    message = r"no longer has 2 of the 3 packages of the image small: kmod 30, zsh 5; .* --mirror, or .* --force small$"
    with pytest.raises(PackagesGone, match=message):
        mirror.check("small", wanted)
    mirror.check("small", {"libkmod2": "30"})


@APT
def test_what_is_installed_is_the_same_whatever_else_a_mirror_has(tmp_path: Path) -> None:
    wanted = {"kmod": "30", "libkmod2": "30", "dash": "1.0"}
    indices = []
    for name, state in (("one", STATE), ("two", NEWER)):
        mirror = opened(tmp_path, name, state)
        mirror.check("small", wanted)
        repository = tmp_path / f"{name}-packages"
        mirror.fetch([wanted, {"libkmod2": mirror.newest(["libkmod2"])["libkmod2"]}], repository)
        write_index(repository, wanted)
        indices.append((repository / "Packages").read_bytes())
    assert indices[0] == indices[1]
    assert indices[0].count(b"\nVersion: ") == 3


@APT
def test_whoever_installs_may_read_the_packages_whatever_the_mask(tmp_path: Path) -> None:
    mirror, repository = opened(tmp_path, "apt", STATE), tmp_path / "packages"
    mask = os.umask(0o077)
    try:
        mirror.fetch([{"zsh": "5"}], repository)
        write_index(repository, {"zsh": "5"})
    finally:
        os.umask(mask)
    modes = {path.name: path.stat().st_mode & 0o777 for path in (repository, *repository.iterdir())}
    assert modes == {"packages": 0o755, "zsh_5_amd64.deb": 0o644, "Packages": 0o644}


@APT
def test_a_mirror_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(ImageError, match=r"(?s)^apt-get update ended with status .*\nname a mirror of Debian, with: "):
        Mirror(SMALL, tmp_path / "apt", f"file:{tmp_path}/nowhere")


@pytest.mark.parametrize("mirror", ["/nonexistent", "./gone.sources", "."])
def test_a_path_that_leads_to_no_file_is_no_mirror(mirror: str, tmp_path: Path) -> None:
    with pytest.raises(ImageError, match=r"^--mirror \S+: there is no such file; name a mirror of Debian, with: "):
        image_packages._write_sources(tmp_path, "bookworm", mirror)
    assert not list(tmp_path.iterdir())


# What `apt-get indextargets` printed on a Debian 12 with updates, security and a source of somebody else.
TARGETS = """\
https://deb.example.org/debian/ bookworm main Debian
https://deb.example.org/debian/ bookworm main Debian
https://deb.example.org/debian/ bookworm contrib Debian
https://deb.example.org/debian/ bookworm-updates main Debian
https://deb.example.org/debian-security/ bookworm-security main Debian
https://deb.example.org/debian/ trixie main Debian
https://other.example.org/ bookworm main Some Other Origin
https://nothing.example.org/ bookworm main
"""


def program(folder: Path, name: str, script: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)


def test_the_machines_own_sources_are_taken(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "targets").write_text(TARGETS)
    program(tmp_path, "apt-get", f'test "$1" = indextargets && echo "$@" >{tmp_path}/asked && cat {tmp_path}/targets')
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert machine_sources("bookworm") == [
        "deb https://deb.example.org/debian-security/ bookworm-security main",
        "deb https://deb.example.org/debian/ bookworm main",
        "deb https://deb.example.org/debian/ bookworm-updates main",
    ]
    asked = (tmp_path / "asked").read_text()
    assert "$(REPO_URI) $(RELEASE) $(COMPONENT) $(ORIGIN)" in asked
    assert "Created-By: Packages" in asked
    assert machine_sources("sid") == []


def test_a_machine_without_apt_has_no_sources(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert machine_sources("bookworm") == []


def test_a_machine_without_sources_is_told_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(image_packages, "machine_sources", lambda suite: [])
    with pytest.raises(ImageError, match=r"no source of Debian bookworm .* apt-get update, .* --mirror URL$"):
        image_packages._write_sources(tmp_path, "bookworm", "")


def test_a_mirror_is_named_in_one_of_four_ways(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    own = "deb https://deb.example.org/debian bookworm main"
    monkeypatch.setattr(image_packages, "machine_sources", lambda suite: [own])
    (tmp_path / "some.list").write_text("deb http://a.example.org/debian bookworm main\n")
    (tmp_path / "some.sources").write_text("Types: deb\n")
    expected = {
        "http://m.example.org/debian": "deb http://m.example.org/debian bookworm main\n",
        "deb [trusted=yes] file:/here ./": "deb [trusted=yes] file:/here ./\n",
        f"{tmp_path}/some.list": "deb http://a.example.org/debian bookworm main\n",
        "": f"{own}\n",
    }
    for mirror, text in expected.items():
        image_packages._write_sources(tmp_path, "bookworm", mirror)
        assert (tmp_path / "sources.list").read_text() == text
    (tmp_path / "sources.list.d").mkdir()
    image_packages._write_sources(tmp_path, "bookworm", f"{tmp_path}/some.sources")
    assert (tmp_path / "sources.list.d" / "named.sources").read_text() == "Types: deb\n"
