"""What stands between the nodes: links, routers, impairments, tunings, and what leaves the lab."""
