"""What executes a shard next to the tunnels. Standard library only, so that it runs wherever there is Python 3.11."""
