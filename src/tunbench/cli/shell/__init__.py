"""What lies between a command and the shell that it was typed into: who calls it, and who reads its output."""
