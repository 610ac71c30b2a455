"""The clock `real`: KVM where a trial boot shows that it works, else TCG with a thread for each processor."""

import functools
import os
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path

from tunbench.labs.vm.image_definition import BASE
from tunbench.labs.vm.qemu import QEMU
from tunbench.plan.cache_folder import cache

TRIAL_SECONDS = 10
"""Wall clock that the trial boot may take. /dev/kvm exists on some machines that cannot boot a stock kernel."""

GREETING = b"Linux version"


def machine() -> list[str]:
    """QEMU's arguments for accelerator and processors on the real clock."""
    cores = str(min(os.cpu_count() or 1, 4))
    if works():
        return ["-accel", "kvm", "-cpu", "host", "-smp", cores]
    return ["-accel", "tcg,thread=multi,tb-size=128", "-cpu", "max,-erms,-fsrm", "-smp", cores]


@functools.cache
def works() -> bool:
    """Whether KVM boots the lab's kernel on this machine; the answer is kept until the machine boots again."""
    if not os.access("/dev/kvm", os.R_OK | os.W_OK):
        return False
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    answer = cache() / "kvm" / f"{boot}-{BASE.digest[:12]}"
    with suppress(OSError):
        return answer.read_text() == "yes"
    found = _boots_a_kernel()
    # Where it cannot be kept, it is asked anew.
    with suppress(OSError):
        answer.parent.mkdir(parents=True, exist_ok=True)
        answer.write_text("yes" if found else "no")
    return found


def _boots_a_kernel() -> bool:
    """Boots the kernel without a root file system: it reaches the panic at the end of its own start, or it does not."""
    with tempfile.TemporaryDirectory() as folder:
        console = Path(folder) / "console"
        argv = [QEMU, "-M", "q35", "-accel", "kvm", "-cpu", "host", "-m", "512M", "-nodefaults"]
        argv += ["-display", "none", "-no-reboot", "-serial", f"file:{console}"]
        argv += ["-kernel", str(BASE.folder / "vmlinux")]
        argv += ["-append", "console=ttyS0 panic=-1"]
        try:
            done = subprocess.run(argv, capture_output=True, timeout=TRIAL_SECONDS)
        except (subprocess.TimeoutExpired, OSError):
            return False
        return done.returncode == 0 and GREETING in console.read_bytes()
