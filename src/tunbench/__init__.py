"""Tunbench: a laboratory for VPNs, tunnels and overlay networks."""

__version__ = "0.1.0"
