"""One reader for each axis of a plan, and what they share: names, lists and sweeps."""
