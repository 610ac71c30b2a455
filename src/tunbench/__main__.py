"""`python -m tunbench`."""

from tunbench.cli import main

main()
