from types import ModuleType

import pytest

from tests.helpers import scripts

TCP = ("baseline", "iperf3-tcp:duration=2", "a-b", "b", "throughput", "bit/s")
PING = ("baseline", "ping", "a-b", "a", "rtt", "s")


@pytest.fixture
def script() -> ModuleType:
    return scripts.script("ranks")


def test_the_best_comes_first_and_what_only_one_run_has_is_left_out(script: ModuleType) -> None:
    one, other = {"none": 9.0, "gre": 5.0, "ipip": 7.0, "tinc": 1.0}, {"gre": 2.0, "none": 2.0, "ipip": 3.0}
    assert script.ranked(one, other, True) == [
        ("none", (9.0, 2.0), (1.0, 2.5)),
        ("gre", (5.0, 2.0), (3.0, 2.5)),
        ("ipip", (7.0, 3.0), (2.0, 1.0)),
    ]
    assert [row.ranks for row in script.ranked(one, other, False)] == [(3.0, 1.5), (1.0, 1.5), (2.0, 3.0)]


def test_each_metric_has_its_table_and_its_tau(
    script: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = {
        "a": {TCP: {"none": 9e9, "gre": 5e9, "ipip": 7e9}, PING: {"none": 1e-5, "gre": 2e-5}},
        "b": {TCP: {"none": 3e8, "gre": 1e8, "ipip": 2e8}, PING: {"none": 1e-4, "gre": 9e-5}},
    }
    monkeypatch.setattr(script, "medians", lambda folder: runs[folder.name])
    script.main("a", "b")
    printed = capsys.readouterr().out.replace("\xa0", " ")
    assert "throughput, iperf3-tcp:duration=2, baseline: n = 3, τ = 1.00, p = 0.3333\n" in printed
    assert "| `ipip` | 7.00 Gbit/s | 2 | 200 Mbit/s | 2 |\n" in printed
    assert "rtt, ping, baseline: n = 2, 2 common systems: an order needs at least 3\n" in printed
    assert "| `none` | 10.0 µs | 1 | 100 µs | 2 |\n" in printed
