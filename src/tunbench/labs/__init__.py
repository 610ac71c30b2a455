"""Labs: places where shards execute. A lab knows nothing of tunnels and workloads."""
