"""Proof by capture that traffic is encapsulated, and encrypted where that is claimed."""
