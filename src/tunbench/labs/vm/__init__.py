"""The vm lab: its images, and the VMs that boot from them."""
