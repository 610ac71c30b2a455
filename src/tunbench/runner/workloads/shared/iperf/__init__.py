"""What the workloads of iperf2 and iperf3 share."""
