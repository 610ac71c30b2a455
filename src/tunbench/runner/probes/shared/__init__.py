"""What several probes use; it holds no probe."""
