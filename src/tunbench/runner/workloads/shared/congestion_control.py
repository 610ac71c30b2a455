"""Congestion control of TCP: which algorithm a workload asks for, and whether the kernel has it."""

from tunbench.runner.declare.failures import Unsupported
from tunbench.runner.declare.options import Option
from tunbench.runner.workload import Trial

DEFAULT = "default"
"""The algorithm that the system takes by itself."""

ALGORITHMS = (
    *("bbr", "bic", "cdg", "cubic", "dctcp", "highspeed", "htcp", "hybla", "illinois", "lp", "nv", "reno"),
    *("scalable", "vegas", "veno", "westwood", "yeah"),
)
"""Those of Linux 6.1: net/ipv4/Kconfig."""

OPTION = Option("choice", DEFAULT, "congestion control of TCP; default: the system's", choices=(DEFAULT, *ALGORITHMS))

AVAILABLE = ("sysctl", "-n", "net.ipv4.tcp_available_congestion_control")


def chosen(trial: Trial) -> str:
    """The algorithm that the option `congestion` names, empty for the system's. Raises Unsupported."""
    algorithm = str(trial.options["congestion"])
    if algorithm == DEFAULT:
        return ""
    client = trial.client
    # The kernel lists those that are built in or loaded, for all network namespaces at once.
    if algorithm not in client.ask(*AVAILABLE).stdout.split():
        client.try_run("modprobe", f"tcp_{algorithm}")
        if algorithm not in client.ask(*AVAILABLE).stdout.split():
            raise Unsupported(f"this kernel does not have the congestion control {algorithm}")
    return algorithm
