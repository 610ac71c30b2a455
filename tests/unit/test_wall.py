import math

import pytest

from tunbench.plan.expand import expand, shard_seconds
from tunbench.plan.load import check
from tunbench.plan.profile import read_profiles, shipped
from tunbench.plan.shard import Profile
from tunbench.plan.wall import (
    BRING_UP,
    BUSY,
    DAEMONS,
    SWITCHING,
    USER_SPACE,
    bring_up,
    busy,
    busy_second,
    encrypts,
    rate_limit,
    tcp_limit,
)
from tunbench.runner import registry

LAN = Profile("lan", {"rate": 100e6}, {"rate": 100e6})
TCP = "iperf3-tcp:duration=10"


def seconds(stack: str, workload: str, profile: object = "baseline", clock: str = "virtual") -> float:
    name = profile if isinstance(profile, str) else "baseline"
    text = f'name = "x"\nstacks = ["{stack}"]\nworkloads = ["{workload}"]\nprofiles = ["{name}"]\n'
    (shard,) = expand(check(text, "x.toml"))
    return shard_seconds(shard, clock)


def test_waiting_is_skipped_and_work_is_not() -> None:
    assert seconds("none", "ping:count=100,interval=1") == pytest.approx(BRING_UP + 0.08 * BUSY)
    assert seconds("none", "iperf3-tcp:duration=2") == pytest.approx(BRING_UP + 2 * BUSY)
    assert seconds("none", "ping:count=100,interval=1", clock="real") == pytest.approx(BRING_UP + 100)
    assert seconds("none", "iperf3-tcp:duration=20", "high") < BRING_UP + 0.2 * 20 * BUSY


def test_daemons_take_time_to_begin() -> None:
    assert bring_up("none") == bring_up("vxlan") == BRING_UP
    assert bring_up("ipsec+vxlan") == BRING_UP + DAEMONS["ipsec"]
    assert set(DAEMONS) <= set(registry.tunnel_names())


def test_what_passes_through_a_process_takes_longer() -> None:
    assert busy_second("none") == busy_second("wireguard") == BUSY
    assert busy_second("openvpn") == busy_second("wireguard:impl=go+vxlan") == BUSY * SWITCHING
    assert set(USER_SPACE) <= set(registry.tunnel_names())


def test_a_second_of_a_slow_machine_is_soon_over() -> None:
    assert busy(TCP, speed=250) == pytest.approx(10 / 4)
    assert busy("ping:count=100", speed=250) == busy("ping:count=100")


@pytest.mark.parametrize("workload", [TCP, "iperf3-udp:rate=50M,duration=10", "iperf2-tcp:duration=10"])
def test_what_is_held_back_leaves_the_machine_idle(workload: str) -> None:
    held = busy(workload, profile=LAN)
    assert 0.02 * 10 < held < 10
    assert held < busy(workload, profile=LAN, encrypted=True) <= 10


def test_a_slow_machine_is_busy_with_what_the_full_one_is_not() -> None:
    assert busy(TCP, speed=250, profile=LAN) == pytest.approx(10 / 4)
    assert busy(TCP, speed=250, profile=LAN) < busy(TCP, profile=LAN)


def test_bytes_take_what_they_weigh() -> None:
    one, ten = (busy(f"iperf2-tcp:bytes={size}MB", encrypted=True) for size in (10, 100))
    assert ten == pytest.approx(10 * one)
    assert busy("iperf2-tcp:bytes=10MB", profile=LAN) > busy("iperf2-tcp:bytes=10MB")


def test_a_rate_is_a_limit_and_so_is_loss() -> None:
    baseline, high = shipped()["baseline"], shipped()["high"]
    assert rate_limit(baseline) == tcp_limit(baseline) == math.inf
    assert (rate_limit(LAN), tcp_limit(LAN)) == (100e6, 100e6)
    # 3.3 Mbit/s were measured; reordering costs it half of what loss alone leaves.
    assert 3e6 < tcp_limit(high) < 12e6
    (mild,) = read_profiles({"name": "mild", "loss": "0.01%", "delay": "1ms"})
    assert tcp_limit(mild) > tcp_limit(high)


@pytest.mark.parametrize(
    ("stack", "secret"), [("none", False), ("gre", False), ("gre+wireguard", True), ("ipsec", True)]
)
def test_what_encrypts(stack: str, secret: bool) -> None:
    assert encrypts(stack) == secret
