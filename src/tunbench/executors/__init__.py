"""Executors: they hand shards to a lab."""
