"""Numbers and records that somebody else has written, read into the types that analysis computes with."""
