"""Tunnels, workloads and probes of others: from a folder that the user names, or from an installed package.

A plug-in's folder is laid out as the runner is: `tunnels/NAME.py`, `workloads/NAME.py`, `probes/NAME.py`. Its files are
found, imported and checked as the shipped ones are, and go into the lab beside them.
"""
