"""A listener of a fake node, which has heard at once what it will."""

from pathlib import Path

from tests.helpers.fakes import Begin, Call

SILENCE = "ready\nend 0 0\n"
"""What it tells where nothing arrived."""


def hears(text: str = SILENCE) -> dict[str, Begin]:
    """Lets it tell so, and end. Its own words name iperf3 too: among what begins, it comes first."""

    def begin(call: Call, log: Path) -> int:
        log.write_text(text)
        return 0

    return {"arrivals.py": begin}


def without_listener(commands: list[str]) -> list[str]:
    """The commands but those of the listener."""
    return [command for command in commands if "arrivals" not in command]
