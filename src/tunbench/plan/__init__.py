"""Plans: what they may say, and the shards that they expand to. Pure; no I/O but the file."""
