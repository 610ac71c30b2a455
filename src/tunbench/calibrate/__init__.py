"""Which model machine is equal to this host: a fixed set is run natively and in the VM, and compared."""
