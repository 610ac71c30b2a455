"""On this kernel, what runs on a node runs on its core, and the runner elsewhere."""

import json
import os
import subprocess
import sys
from collections.abc import Callable

import pytest

from tests.helpers.host import APART
from tunbench.runner.node import pinning

pytestmark = [
    pytest.mark.native,
    pytest.mark.skipif(os.geteuid() != 0, reason="the native lab needs root for its namespaces"),
    pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one core leaves nothing to choose"),
]

SCRIPT = """
import json, os, subprocess, sys
from io import StringIO
from tunbench.runner.node import namespaces, pinning
from tunbench.runner.node.events import EventStream
from tunbench.runner.node.shell import LocalShell

for folder in ("/run", "/mnt"):
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", folder], check=True)
pins = pinning.pins(["a"], os.sched_getaffinity(0))
events = StringIO()
nodes = namespaces.running_nodes(["a", "edge"], "10.0.3.2", LocalShell(), EventStream(events), pins)
with pinning.kept_to(pins.rest), nodes as made:
    look = ("sh", "-c", "grep Cpus_allowed_list /proc/self/status")
    daemon = made["a"].start("sh", "-c", "grep Cpus_allowed_list /proc/self/status; sleep 60", log="daemon")
    daemon.popen.poll()
    seen = {name: made[name].run(*look).split()[-1] for name in ("a", "edge", "lab")}
    made["a"].until_prints("cat", str(made["a"].home / "daemon.log"), timeout=10)
    seen["daemon"] = (made["a"].home / "daemon.log").read_text().split()[-1]
    seen["visited"] = sorted(made["lab"].visit_cores())
    seen["runner"] = sorted(os.sched_getaffinity(0))
seen["pins"] = [pins.of("a"), pins.of("edge")]
seen["afterwards"] = sorted(os.sched_getaffinity(0))
seen["typed"] = [json.loads(line)["shell"] for line in events.getvalue().splitlines() if "Cpus_allowed" in line]
print(json.dumps(seen))
"""


@pytest.mark.reliability
def test_nodes_run_on_their_cores_and_the_runner_on_the_rest(record_property: Callable[[str, object], None]) -> None:
    done = subprocess.run([*APART, sys.executable, "-c", SCRIPT], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    core, rest = seen["pins"]
    others = pinning._numbers(rest)
    assert seen["a"] == seen["daemon"] == core
    assert pinning._numbers(seen["edge"]) == pinning._numbers(seen["lab"]) == seen["runner"] == others
    assert int(core) not in others
    assert seen["afterwards"] == sorted(os.sched_getaffinity(0))
    assert {f"cpu{number}" for number in seen["afterwards"]} <= set(seen["visited"]), "idle time of all cores is read"
    assert f"ip netns exec a taskset -c {core} sh -c 'grep Cpus_allowed_list /proc/self/status'" in seen["typed"]
    cores = f"of {len(seen['afterwards'])} cores"
    record_property(
        "reliability", f"{cores}, number {core} is the node's, and number {rest} is left to everything else"
    )
