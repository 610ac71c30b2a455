"""The program that asks a control plane by its JSON interface, and the command that runs it."""

import io
import json
import urllib.error
import urllib.request
from email.message import Message
from pathlib import Path

import pytest

from tests.helpers.fakes import FakeEvents, FakeShell, move_home
from tunbench.runner.node.command import ShellWord, typed
from tunbench.runner.node.node import Node
from tunbench.runner.tunnels.shared import rest_api

ANSWER = [{"name": "a", "id": "x1"}, {"name": "b", "id": "x2", "groups": [{"id": 7}]}]


def run(monkeypatch: pytest.MonkeyPatch, answer: object, field: str, token: str = "-", body: str = "-") -> str:
    """What the program prints; it is given the answer, or an error."""
    asked: list[urllib.request.Request] = []

    def opened(request: urllib.request.Request, **_: object) -> io.BytesIO:
        asked.append(request)
        if isinstance(answer, OSError):
            raise answer
        return io.BytesIO(json.dumps(answer).encode())

    printed: list[str] = []
    monkeypatch.setattr("urllib.request.urlopen", opened)
    monkeypatch.setattr("ssl.create_default_context", lambda **_: None)
    arguments = ["PUT", "https://control/api", field, "ca.crt", "Token", token, body]
    monkeypatch.setattr("sys.argv", ["ask.py", *arguments])
    exec(compile(rest_api.PROGRAM, "ask.py", "exec"), {"print": printed.append})
    [request] = asked
    assert (request.get_method(), request.full_url) == ("PUT", "https://control/api")
    assert request.get_header("Authorization") == (None if token == "-" else "Token secret")
    assert request.data == (None if body == "-" else b"{}")
    return printed[0]


@pytest.mark.parametrize(("field", "value"), [("0/id", "x1"), ("name=b/id", "x2"), ("1/groups/id=7/id", 7), ("-", "")])
def test_a_field_of_the_answer(field: str, value: object, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(monkeypatch, ANSWER, field) == value


def test_it_shows_its_token_and_sends_its_body(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    token, body = tmp_path / "token", tmp_path / "body"
    token.write_text("secret\n")
    body.write_text("{}")
    run(monkeypatch, {}, "-", str(token), str(body))


@pytest.mark.parametrize("field", ["2/id", "name=c/id", "0/key", "id"])
def test_a_field_that_is_not_there_is_an_error(field: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SystemExit, match=f"the answer has no {field}"):
        run(monkeypatch, ANSWER, field)


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (
            urllib.error.HTTPError("u", 403, "Forbidden", Message(), io.BytesIO(b'{"message": "no"}')),
            '403: Forbidden: {"message": "no"}',
        ),
        (ConnectionRefusedError(111, "Connection refused"), "Connection refused"),
    ],
)
def test_an_error_says_what_was_asked(error: OSError, reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SystemExit) as caught:
        run(monkeypatch, error, "-")
    assert "PUT https://control/api: " in str(caught.value)
    assert reason in str(caught.value)


def test_what_differs_each_time_is_read_from_a_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    home = move_home(monkeypatch, tmp_path)
    shell = FakeShell()
    (home / "which").write_text("d1\n")
    api = rest_api.Api(Node("a", shell, FakeEvents()), home / "ask", "https://c", home / "ca", "Bearer", home / "token")
    words = api.words("GET", "/peers/", which=home / "which")
    [url] = [word for word in words if isinstance(word, ShellWord)]
    assert url == "https://c/peers/d1"
    assert f'"https://c/peers/$(cat {home}/which)"' in typed(words)
