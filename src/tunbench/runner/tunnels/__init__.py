"""Tunnel technologies, one file each."""
