"""How long a plan takes on this machine."""
