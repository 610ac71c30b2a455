"""How a report refers to the commands of a trial: by their address, and in a line."""

from urllib.parse import quote

from tunbench.journal.record import TrialResult

MAX_COMMAND_CHARACTERS = 240


def commands(trial: TrialResult, base: str = ".") -> str:
    """The address of a trial's commands, from the page by `base`; whatever stands in it, it is a relative path."""
    way = "/".join(part for part in (base, trial.folder.strip("/"), "commands.sh") if part not in ("", "."))
    return "./" + quote(way, safe="/")


def command_line(command: str) -> str:
    """A command in one line of bearable length."""
    line = " ".join(command.split())
    return line if len(line) <= MAX_COMMAND_CHARACTERS else line[: MAX_COMMAND_CHARACTERS - 1] + "…"
