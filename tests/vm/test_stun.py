"""The kinds of NAT in the VM, as a STUN client behind each of them sees it (RFC 5780)."""

import json
from pathlib import Path

import pytest

from tests.helpers import stun
from tests.helpers.gateway_lab import SERVERS
from tunbench.labs.vm import explore
from tunbench.runner.declare.access import NATS

pytestmark = pytest.mark.vm

ASK = """\
import json, shutil
from tunbench.runner.declare.access import NATS, Access, Accesses
from tunbench.runner.network import underlay
from tunbench.runner.network.emulated import EmulatedNetwork
from tunbench.runner.node.node import HOME
from tunbench.runner.node.shell import LocalShell

class Deaf:
    def tell(self, *words, **fields):
        pass

program, found, network = HOME / "stun.py", {}, EmulatedNetwork(LocalShell())
for nat in NATS:
    open_door = {"firewall": "open"} if nat == "one-to-one" else {}
    under = underlay.of("ip", accesses=Accesses("x", None, {"a": Access("x", nat=nat, **open_door)}))
    with network.nodes(under, Deaf()) as nodes:
        network.connect(under, nodes, Deaf())
        nodes["edge"].write(program, STUN)
        nodes["edge"].start("python3", str(program), "serve", *SERVERS, log="stun")
        assert nodes["edge"].until("sh", "-c", "ss -lunH | grep -q 3479", timeout=10)
        found[nat] = json.loads(nodes["a"].run("python3", str(program), "ask", SERVERS[0], timeout=30))
    shutil.rmtree(HOME)
print(json.dumps(found))
"""


def test_a_stun_client_in_the_vm_sees_each_kind_of_nat_that_is_asked_for(tmp_path: Path) -> None:
    script, text = tmp_path / "script", Path(stun.__file__).read_text()
    program = f"SERVERS, STUN = {SERVERS!r}, {text!r}\n{ASK}"
    script.write_text(f"mount -t tmpfs tmpfs /mnt\nmount -t tmpfs tmpfs /run\npython3 - <<'END'\n{program}END\n")
    printed, status = explore.script(script, 1, "virtual", [])
    assert status == 0, printed
    assert json.loads(printed.splitlines()[-1]) == {
        kind: {name: getattr(nat, name) for name in ("mapping", "filtering", "hairpin")} for kind, nat in NATS.items()
    }
