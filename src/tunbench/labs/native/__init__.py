"""The native lab: namespaces on the kernel of this machine."""
