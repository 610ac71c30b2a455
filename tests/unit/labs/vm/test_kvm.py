"""Whether KVM works on a machine: a trial boot says so, and its answer is kept."""

import os
from pathlib import Path

import pytest

from tunbench.labs.vm import kvm


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def kvm_answers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, script: str) -> bool:
    (tmp_path / "qemu-system-x86_64").write_text(f"#!/bin/sh\n{script}\n")
    (tmp_path / "qemu-system-x86_64").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(os, "access", lambda *_: True)
    monkeypatch.setattr(kvm, "TRIAL_SECONDS", 0.5 if "sleep" in script else 20)
    return kvm._boots_a_kernel()


CONSOLE = 'for word in "$@"; do case $word in file:*) console=${word#file:};; esac; done; '


@pytest.mark.parametrize(
    ("script", "works"),
    [
        (CONSOLE + "echo Linux version 6.1 >$console", True),
        (CONSOLE + "echo SeaBIOS >$console", False),
        (CONSOLE + "echo Linux version 6.1 >$console; exit 1", False),
        ("exec sleep 20", False),
    ],
)
def test_kvm_works_where_the_kernel_boots(
    script: str, works: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert kvm_answers(monkeypatch, tmp_path, script) is works


def test_kvm_is_not_tried_where_it_may_not_be_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert not kvm._boots_a_kernel()


def test_the_answer_of_kvm_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter([True])
    monkeypatch.setattr(kvm, "_boots_a_kernel", lambda: next(answers))
    for _ in range(2):
        kvm.works.cache_clear()
        assert kvm.works()
    kvm.works.cache_clear()


def test_where_it_cannot_be_kept_kvm_is_asked_anew(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    monkeypatch.setattr(os, "access", lambda *_: True)
    answers = iter([True, False])
    monkeypatch.setattr(kvm, "_boots_a_kernel", lambda: next(answers))
    for answer in (True, False):
        kvm.works.cache_clear()
        assert kvm.works() is answer
    kvm.works.cache_clear()
