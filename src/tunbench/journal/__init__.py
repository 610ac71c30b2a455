"""The append-only record of a run, and all that is read from it."""
