"""The command `tunbench`, and `python -m tunbench`."""

import gc
import sys

from tunbench.run.interrupt import INTERRUPTED
from tunbench.runner import mistaken_file

BAD_INPUT = 2
"""Exit code of a file that cannot be used: here the command line, which has it too, may not be there."""


def main() -> None:
    """Loads the command line, which takes some tenths of a second, and runs it."""
    try:
        try:
            # Nothing of what is loaded becomes garbage: looking for some again and again takes a quarter of the time.
            gc.disable()
            from tunbench import cli

            gc.freeze()
            gc.enable()
        except KeyboardInterrupt:
            sys.exit(INTERRUPTED)
        cli.main()
    except Exception as error:
        if not (said := mistaken_file.said_of(error) or _first_mistake()):
            raise
        sys.stderr.write(f"{said}\n")
        sys.exit(BAD_INPUT)


def _first_mistake() -> str:
    """What is declared wrongly, where an error may come of it; empty where Tunbench itself is wrong."""
    from tunbench.plugins import declared

    return declared.first_mistake()


if __name__ == "__main__":
    main()
