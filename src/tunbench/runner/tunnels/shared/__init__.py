"""What several tunnels use; it holds no tunnel."""
