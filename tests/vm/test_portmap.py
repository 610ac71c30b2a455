"""Gateways in the VM that open ports to who asks: what a client of each protocol gets, and which tunnels ask."""

import json
from pathlib import Path

import pytest

from tests.helpers import gateway_talk
from tests.helpers.measuring import execute, plan, values, verdicts
from tunbench.journal import journal
from tunbench.labs.vm import explore
from tunbench.labs.vm.image_definition import ADDONS
from tunbench.runner.declare.access import MINIUPNPD, PORTMAPS

pytestmark = pytest.mark.vm

ASK = """\
import json, shutil
from tunbench.runner.declare.access import Access, Accesses
from tunbench.runner.network import underlay
from tunbench.runner.network.access import portmap
from tunbench.runner.network.emulated import EmulatedNetwork
from tunbench.runner.node.node import HOME
from tunbench.runner.node.shell import LocalShell

class Deaf:
    def tell(self, *words, **fields):
        pass

def talk(node, *words):
    return json.loads(node.run("python3", str(HOME / "talk.py"), *words, timeout=30))

found, network = {}, EmulatedNetwork(LocalShell())
for protocol in PORTMAPS:
    under = underlay.of("ip", accesses=Accesses("x", None, {"a": Access("x", nat="symmetric", portmap=protocol)}))
    with network.nodes(under, Deaf()) as nodes:
        network.connect(under, nodes, Deaf())
        nodes["a"].write(HOME / "talk.py", TALK)
        got = talk(nodes["a"], "ask_by_" + protocol.replace("-", "_"), "10.2.1.1", "7000")
        hearing = nodes["a"].start("python3", str(HOME / "talk.py"), "hear", "7000", log="heard")
        nodes["a"].until_prints("ss", "-lunH", "sport", "=", ":7000")
        talk(nodes["b"], "send", got[0], "7000", "9")
        nodes["a"].until_prints("cat", str(nodes["a"].log("heard")))
        found[protocol] = [got, nodes["a"].read(nodes["a"].log("heard")), portmap.opened(nodes["gateway-a"])]
    shutil.rmtree(HOME)
print(json.dumps(found))
"""


def test_a_client_of_each_protocol_gets_a_port_behind_a_symmetric_nat(tmp_path: Path) -> None:
    script, text = tmp_path / "script", Path(gateway_talk.__file__).read_text()
    program = f"PORTMAPS, TALK = {[*PORTMAPS]!r}, {text!r}\n{ASK}"
    script.write_text(f"mount -t tmpfs tmpfs /mnt\nmount -t tmpfs tmpfs /run\npython3 - <<'END'\n{program}END\n")
    printed, status = explore.script(script, 1, "virtual", [ADDONS[MINIUPNPD.name]])
    assert status == 0, printed
    assert json.loads(printed.splitlines()[-1]) == {
        protocol: [["12.0.1.2", 7000], "[9, 0]\n", [["udp", 7000, "10.2.1.2:7000"]]] for protocol in PORTMAPS
    }


@pytest.mark.long
@pytest.mark.parametrize("stack", ["headscale", "netbird"])
def test_who_asks_a_router_finds_a_direct_path_between_symmetric_nats(stack: str, tmp_path: Path) -> None:
    keys = 'nat = "symmetric"'
    access = f'[{{ name = "silent", {keys} }}, {{ name = "opening", {keys}, portmap = "pcp" }}]'
    record = execute(tmp_path / "run", plan([stack], '["baseline"]', ["ping:count=5"], access=access))
    assert set(verdicts(record).values()) == {("ok", "")}
    paths = {trial.cell["access"]: trial.path for trial in record.trials}
    assert paths["silent"] != "direct" == paths["opening"]
    assert values(record, "opened-ports", stack, access="opening") == [1, 1]
    assert values(record, "opened-ports", stack, access="silent") == []
    told = [one for one in journal.events(tmp_path / "run") if one["event"] == "gateway" and "opened" in one]
    ports = {(one["node"], port["protocol"], port["to"].split(":")[0]) for one in told for port in one["opened"]}
    assert ports == {("gateway-a", "udp", "10.2.1.2"), ("gateway-b", "udp", "10.2.2.2")}
