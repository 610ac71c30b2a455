"""Templates: VMs that have booted and were saved, from which shards start."""
