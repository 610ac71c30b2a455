import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tunbench.journal import journal
from tunbench.journal.journal import Journal, JournalError

FIRST, SECOND, THIRD = ({"event": "run", "n": n} for n in (1, 2, 3))


def begun(folder: Path) -> Journal:
    book = Journal(folder)
    book.append(FIRST)
    book.append(SECOND, sync=True)
    return book


def text(folder: Path) -> str:
    return (folder / journal.NAME).read_text()


def test_what_is_appended_is_read_again(tmp_path: Path) -> None:
    begun(tmp_path).close()
    assert text(tmp_path) == '{"event":"run","n":1}\n{"event":"run","n":2}\n'
    assert journal.events(tmp_path) == [FIRST, SECOND]
    book = Journal(tmp_path)
    book.append({"event": "ünïcode\n"})
    book.close()
    assert journal.events(tmp_path)[2] == {"event": "ünïcode\n"}


def test_it_is_on_the_disk_when_the_call_returns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[str] = []
    monkeypatch.setattr(os, "fsync", lambda _: synced.append(text(tmp_path)))
    book = begun(tmp_path)
    assert synced == ['{"event":"run","n":1}\n{"event":"run","n":2}\n']
    book.close()


@pytest.mark.parametrize("torn", [b'{"event":"tri', b"{", b'{"event":"run"}', b"\xff"])
def test_a_torn_last_line_is_not_read_and_is_repaired(torn: bytes, tmp_path: Path) -> None:
    begun(tmp_path).close()
    path = tmp_path / journal.NAME
    path.write_bytes(path.read_bytes() + torn)
    assert journal.events(tmp_path) == [FIRST, SECOND]
    book = Journal(tmp_path)
    book.repair()
    book.append(THIRD)
    book.close()
    assert journal.events(tmp_path) == [FIRST, SECOND, THIRD]


def test_a_whole_journal_is_not_repaired(tmp_path: Path) -> None:
    begun(tmp_path).close()
    before = text(tmp_path)
    book = Journal(tmp_path)
    book.repair()
    book.close()
    assert text(tmp_path) == before


@pytest.mark.parametrize(
    "damage", [b"{", b"", b"[]", b'"event"', b"7", b"null", b'{"events":1}', b"\xff\xfe", b"\0" * 9]
)
def test_damage_in_the_middle_is_an_error_with_its_line(damage: bytes, tmp_path: Path) -> None:
    (tmp_path / journal.NAME).write_bytes(b'{"event":"run"}\n{"event":"shard"}\n' + damage + b'\n{"event":"end"}\n')
    with pytest.raises(JournalError, match=r"journal\.jsonl, line 3: not an event; the journal is damaged"):
        journal.events(tmp_path)


def test_of_a_journal_that_is_damaged_from_its_first_line_on_nothing_is_kept(tmp_path: Path) -> None:
    (tmp_path / journal.NAME).write_bytes(b'{\n{"event":"end"}\n')
    with pytest.raises(JournalError, match=r"line 1: not an event; .* damaged\. Nothing of it can be kept: take the"):
        journal.events(tmp_path)


def test_a_packed_run_is_to_be_unpacked_where_a_folder_is_read(tmp_path: Path) -> None:
    packed = tmp_path / "a run.tar.bz2"
    packed.touch()
    there = f"'{tmp_path}/a run-unpacked'"
    mend = f"unpack it with: mkdir {there} && tar xjf '{packed}' -C {there}, and name {there}"
    with pytest.raises(JournalError, match=re.escape(mend)):
        journal.events(packed)
    with pytest.raises(JournalError, match="name the folder that tunbench run made"):
        journal.events(tmp_path / "none.tar.bz2")


def test_a_folder_without_a_journal_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match=r"is no run: No such file or directory \(journal\.jsonl\)"):
        journal.events(tmp_path)


def test_an_empty_journal_has_no_events(tmp_path: Path) -> None:
    (tmp_path / journal.NAME).touch()
    assert journal.events(tmp_path) == []


@pytest.mark.reliability
def test_a_second_process_on_a_run_folder_is_refused(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    book = begun(tmp_path)
    program = "import sys, pathlib; from tunbench.journal.journal import Journal; Journal(pathlib.Path(sys.argv[1]))"
    other = subprocess.run([sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True)
    assert f"JournalError: another process writes to {tmp_path}/journal.jsonl; wait for it, or end it" in other.stderr
    book.close()
    assert subprocess.run([sys.executable, "-c", program, str(tmp_path)]).returncode == 0
    assert journal.events(tmp_path) == [FIRST, SECOND]
    record_property(
        "reliability", "refused with a message while the first one has the journal, let in after it; same events"
    )


# A limit on the size of files stands for a full disk: of the line that does not fit, a part is written.
FULL = """
import resource, signal, sys
from pathlib import Path
from tunbench.journal.journal import Journal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
book = Journal(Path(sys.argv[1]))
resource.setrlimit(resource.RLIMIT_FSIZE, (100, resource.RLIM_INFINITY))
book.append({"event": "kept"})
try:
    book.append({"event": "lost", "text": "x" * 120})
except OSError as error:
    print("refused", error.errno)
if sys.argv[2] == "room":
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    book.append({"event": "later"})
book.close()
print("closed")
"""


@pytest.mark.parametrize(("then", "events"), [("end", ["kept"]), ("room", ["kept", "later"])])
def test_a_full_disk_keeps_the_journal_whole(then: str, events: list[str], tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", FULL, str(tmp_path), then], capture_output=True, text=True)
    assert done.stdout == "refused 27\nclosed\n"
    assert [event["event"] for event in journal.events(tmp_path)] == events
    assert text(tmp_path).endswith("}\n")
