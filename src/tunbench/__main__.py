"""The command `tunbench`, and `python -m tunbench`."""

import sys

from tunbench.run.interrupt import INTERRUPTED


def main() -> None:
    """Loads the command line, which takes some tenths of a second, and runs it."""
    try:
        from tunbench import cli
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    cli.main()


if __name__ == "__main__":
    main()
