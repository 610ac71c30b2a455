"""What this machine can run, what it lacks, and the mend."""
