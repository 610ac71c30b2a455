"""Reports: pure functions from tables to files."""
