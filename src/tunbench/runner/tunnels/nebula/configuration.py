"""The lines of Nebula's configuration, with the names of values in braces."""

# Each line that is not the daemon's own default has its reason.
CONFIG = """\
pki:
  ca: {ca}.crt
  cert: {host}.crt
  key: {host}.key
{reason}
static_host_map:
{peers}
{lighthouse}{relay}listen:
  host: "{any}"
  port: {port}
cipher: {cipher}
timers:
  connection_alive_interval: {alive}
  pending_deletion_interval: {deletion}
punchy:
  punch: {punch}
  respond: {respond}
tun:
  dev: {interface}
  # The largest packet that still fits into the MTU below: no fragments.
  mtu: {size}
# The counters of what it has dropped, for the lab alone.
stats:
  type: prometheus
  listen: 127.0.0.1:{port}
  path: {path}
  interval: {interval:.0f}ms
# Everything passes; without a rule nothing would.
firewall:
  outbound:
    - {{port: any, proto: any, host: any}}
  inbound:
    - {{port: any, proto: any, host: any}}
"""

KNOWN_PEERS_COMMENT = "# Every host knows where every other one is: no lighthouse is asked, and all paths are direct."
LIGHTHOUSE_COMMENT = (
    "# The lighthouse knows where the others are; no host carries packets of others, so that all paths are direct."
)
RELAY_COMMENT = "# The lighthouse knows where the others are, and through which relay they can be reached."

LIGHTHOUSE = """\
lighthouse:
  am_lighthouse: {here}
  hosts: [{hosts}]
"""

# All but the nodes with a role are kept from being spoken to: there is no other way than through the relay.
RELAYED_ALONE = """\
  remote_allow_list:
    "0.0.0.0/0": false
    "::/0": false
{allowed}
"""

ALLOWED = '    "{address}/{length}": true'

IS_RELAY = """\
relay:
  am_relay: true
  use_relays: false
"""

HAS_RELAY = """\
relay:
  relays: ["{relay}"]
"""

PEER = '  "{inside}": ["{outside}:{port}"]'

ANY_ADDRESS = {4: "0.0.0.0", 6: "::"}
"""Every address of a host, by address family; the daemon's own default is that of IPv4."""
