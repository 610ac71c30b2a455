"""The command `tunbench`, and `python -m tunbench`."""

import sys

from tunbench.run import mistaken_file
from tunbench.run.interrupt import INTERRUPTED

BAD_INPUT = 2
"""Exit code of a file that cannot be used: here the command line, which has it too, may not be there."""


def main() -> None:
    """Loads the command line, which takes some tenths of a second, and runs it."""
    try:
        try:
            from tunbench import cli
        except KeyboardInterrupt:
            sys.exit(INTERRUPTED)
        cli.main()
    except Exception as error:
        if not (said := mistaken_file.said_of(error)):
            raise
        sys.stderr.write(f"{said}\n")
        sys.exit(BAD_INPUT)


if __name__ == "__main__":
    main()
