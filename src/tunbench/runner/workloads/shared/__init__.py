"""What several workloads use; it holds no workload."""
