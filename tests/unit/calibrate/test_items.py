"""The set as plan and script, and what the script prints."""

from collections.abc import Sequence

import pytest

from tunbench.calibrate.items import CIPHERS, NATIVE_REPEATS, PATHS, cipher_script, cipher_speeds, native_plan, vm_plan
from tunbench.plan.axes.machine import Machine
from tunbench.plan.shard import Shard
from tunbench.run.order import read_order

AES, CHACHA, SHA = CIPHERS

PRINTED = """\
+DT:AES-128-GCM:1:256
+R:1106291:AES-128-GCM:1.000000
+H:256
+F:25:AES-128-GCM:283210496.00
+F:26:ChaCha20-Poly1305:124600000.50
+F:1:sha256:99.00
+F:25:AES-128-GCM:281000000.00
"""
"""By OpenSSL 3.0 and with other numbers, as `openssl speed -mr` has it on the command line of the script."""


FULL = Machine("lacking")


def shards(text: str) -> Sequence[Shard]:
    return read_order(text, "any.toml", {}).shards


def cells(text: str) -> set[tuple[str, str]]:
    return {(shard.stack.name, workload.name) for shard in shards(text) for workload in shard.workloads}


def test_the_plan_has_the_paths_and_nothing_else() -> None:
    assert cells(vm_plan(PATHS, FULL)) == {(path.stack, path.workload) for path in PATHS}
    assert cells(native_plan(PATHS[:1])) == {(PATHS[0].stack, PATHS[0].workload)}


def test_the_plan_is_repeated_on_the_machine_that_is_asked_for() -> None:
    lacking = Machine("lacking", ("aes", "vaes"))
    assert {shard.machine for shard in shards(vm_plan(PATHS, lacking))} == {lacking}
    assert len({shard.seed for shard in shards(native_plan(PATHS))}) == NATIVE_REPEATS


def test_both_sides_have_one_congestion_control() -> None:
    for text in (native_plan(PATHS), vm_plan(PATHS, FULL)):
        assert {shard.tuning.congestion for shard in shards(text)} == {"reno"}


def test_natively_there_is_no_model_machine() -> None:
    assert "machine =" not in native_plan(PATHS)


def test_bytes_a_second_are_read_of_each_cipher() -> None:
    assert cipher_speeds(PRINTED, CIPHERS) == {AES: [283210496, 281000000], CHACHA: [124600000.5], SHA: [99]}


@pytest.mark.parametrize("printed", ["", "+F:25:AES-128-GCM:0.00", "+F:25:AES-128-GCM:inf", "speed: unknown algorithm"])
def test_what_is_no_speed_is_none(printed: str) -> None:
    assert cipher_speeds(printed, CIPHERS) == {}


def test_the_script_asks_for_each_cipher_as_often_as_is_wanted() -> None:
    script = cipher_script(CIPHERS, 3)
    assert "for repeat in 0 1 2;" in script
    assert all(cipher.algorithm in script for cipher in CIPHERS)
