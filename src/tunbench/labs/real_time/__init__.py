"""What disturbs measurements on the real clock, and how far: the state of the host, before and beside a run."""
