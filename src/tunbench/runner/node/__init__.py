"""The one door to a machine of a lab: run, start, ask, read, write."""
