"""Why a trial did not end well, as a terminal says it: a failed command may have printed its whole usage."""

MAX_LINES = 4
"""Lines of a reason that are shown whole."""


def shortened(reason: str) -> str:
    """The reason; of many lines the first, which has the command, and the last, where most programs say what is wrong.

    The report and the folder of the trial have all of them.
    """
    lines = [line for line in reason.splitlines() if line.strip()]
    if len(lines) <= MAX_LINES:
        return reason
    return "\n".join([lines[0], f"  … {len(lines) - 2} lines more, which the report has", f"  {lines[-1].strip()}"])
