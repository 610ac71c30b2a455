"""What a lab is handed of the runner, and its digest."""

import hashlib
import shutil
from pathlib import Path

import pytest

from tunbench.labs import payload


def test_the_runner_is_what_the_package_has() -> None:
    files = payload.runner_files()
    assert files["tunbench/__init__.py"] == (payload.PACKAGE / "__init__.py").read_bytes()
    assert {"tunbench/runner/__main__.py", "tunbench/runner/tunnels/wireguard.py"} <= set(files)
    assert all(name == "tunbench/__init__.py" or name.startswith("tunbench/runner/") for name in files)


def test_the_digest_of_the_runner_follows_names_and_contents(monkeypatch: pytest.MonkeyPatch) -> None:
    digests = {payload.digest()}
    for files in ({"a": b"1", "b": b"2"}, {"a": b"1", "b": b"3"}, {"a": b"1", "c": b"2"}, {"a": b"1b 12"}):
        monkeypatch.setattr(payload, "runner_files", lambda files=files: files)
        assert payload.digest() == payload.digest()
        digests.add(payload.digest())
    assert len(digests) == 5


def test_the_runner_is_unpacked_over_what_was_there(tmp_path: Path) -> None:
    (tmp_path / "payload").mkdir()
    (tmp_path / "payload" / "old").write_text("")
    payload.unpack(tmp_path / "payload")
    found = {
        str(path.relative_to(tmp_path / "payload")) for path in (tmp_path / "payload").rglob("*") if path.is_file()
    }
    assert found == set(payload.runner_files())


def test_equal_runners_have_equal_digests_on_every_machine() -> None:
    whole = hashlib.sha256()
    files = sorted(payload.runner_files().items(), key=lambda item: Path(item[0]).parts)
    files += [(f"guest/{path.name}", path.read_bytes()) for path in sorted(payload.GUEST.iterdir())]
    for name, content in files:
        whole.update(f"{name} {len(content)}\n".encode() + content)
    assert payload.digest() == whole.hexdigest()


def test_the_digest_of_the_runner_follows_what_starts_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    before = payload.digest()
    guest = shutil.copytree(payload.GUEST, tmp_path / "guest")
    monkeypatch.setattr(payload, "GUEST", guest)
    assert payload.digest() == before
    (guest / "start").write_bytes((guest / "start").read_bytes() + b"true\n")
    assert payload.digest() != before
