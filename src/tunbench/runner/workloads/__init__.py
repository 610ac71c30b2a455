"""Workloads, one file each."""
