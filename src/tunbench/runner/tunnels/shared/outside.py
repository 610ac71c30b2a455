"""What a program asks outside of the lab, whatever it is told: it is sent to a proxy that does not exist."""

NO_PROXY_THERE = "http://127.0.0.1:9"
"""The discard port of the node itself, where nobody listens."""

NO_HTTPS = f"HTTPS_PROXY={NO_PROXY_THERE}"
"""The environment of a program that asks outside by HTTPS alone, and others in the lab in another way."""

NOTHING = (f"HTTP_PROXY={NO_PROXY_THERE}", NO_HTTPS, "NO_PROXY=10.0.0.0/8,12.0.0.0/16")
"""The environment of a program that asks others in the lab by HTTP or HTTPS, too."""
