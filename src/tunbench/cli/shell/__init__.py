"""What lies between a command and the shell that it was typed into: who calls it, what is printed, and how it ends."""
