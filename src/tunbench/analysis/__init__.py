"""Analysis: pure functions from samples to tables."""
