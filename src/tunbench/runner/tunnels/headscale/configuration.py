"""The configuration of Headscale's server, and the map of relays that it gives to clients."""

from collections.abc import Mapping

# Each line that is not the daemon's own default has its reason.
CONFIG = """\
server_url: https://{control}:{port}
listen_addr: {control}:{port}
# Nobody asks it for metrics, nor for anything from afar.
metrics_listen_addr: 127.0.0.1:9090
grpc_listen_addr: 127.0.0.1:50443
# A client takes part in DERP and in the control protocol by TLS.
tls_cert_path: {tls}.crt
tls_key_path: {tls}.key
noise:
  private_key_path: {state}/noise.key
database:
  type: sqlite
  sqlite:
    path: {state}/db.sqlite
unix_socket: {socket}
prefixes:
  v4: 100.64.0.0/10
  # The n-th endpoint that enrols has the n-th address.
  allocation: sequential
derp:
{derp}
  # The map of public relays is not asked for.
  urls: []
  auto_update_enabled: false
# It looks for no newer version of itself.
disable_check_updates: true
# The lab has no names.
dns:
  magic_dns: false
  base_domain: ""
  override_local_dns: false
  nameservers:
    global: []
# Clients send their logs nowhere.
logtail:
  enabled: false
"""

EMBEDDED = """\
  server:
    enabled: true
    region_id: 999
    region_code: lab
    region_name: lab
    stun_listen_addr: {control}:3478
    private_key_path: {state}/derp.key
    ipv4: {control}"""

OWN = """\
  server:
    enabled: false
  paths: [{map}]"""

# The relay is told by its address: the lab has no names.
DERP_MAP = """\
regions:
  999:
    regionid: 999
    regioncode: lab
    regionname: lab
    nodes:
      - name: lab
        regionid: 999
        hostname: "{relay}"
        ipv4: {relay}
        stunport: 3478
        derpport: 443
"""


def of_server(own_relay: bool, values: Mapping[str, object]) -> str:
    """The server's configuration: with the relay that it brings, or with one on a node."""
    derp = (OWN if own_relay else EMBEDDED).format(**values)
    return CONFIG.format(derp=derp, **values)
