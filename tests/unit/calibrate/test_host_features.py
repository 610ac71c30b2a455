"""What a host lacks, as the machine of a plan says it."""

import pytest

from tunbench.calibrate.host_features import HostFeatures, read
from tunbench.plan.axes.machine import FEATURES, lacking

ALL = [feature.replace(".", "_") for feature in FEATURES]


def cpuinfo(*flags: str, field: str = "flags") -> str:
    """What the kernel tells of a processor with these flags."""
    head, tail = "processor\t: 0\nmodel name\t: any\n", "bugs\t\t: not_meant\n\nprocessor\t: 1\n"
    return f"{head}{field}\t\t: fpu {' '.join(flags)}\n{tail}"


def test_a_host_that_has_all_lacks_nothing() -> None:
    assert read(cpuinfo(*ALL)) == HostFeatures((), ())


def test_a_host_lacks_what_its_first_processor_has_not() -> None:
    assert read(cpuinfo(*(flag for flag in ALL if flag not in ("vaes", "adx")))).without == ("adx", "vaes")


def test_what_needs_a_feature_goes_with_it() -> None:
    assert read(cpuinfo(*(flag for flag in ALL if flag != "aes"))).without == ("aes", "vaes")


def test_an_old_processor_lacks_all() -> None:
    assert read(cpuinfo()).without == lacking(list(FEATURES))


@pytest.mark.parametrize(
    ("flags", "without"),
    [(("fp", "asimd"), ("aes", "pclmulqdq", "vaes")), (("aes", "pmull"), ()), (("aes",), ("pclmulqdq",))],
)
def test_of_arm_the_instructions_for_aes_count(flags: tuple[str, ...], without: tuple[str, ...]) -> None:
    assert read(cpuinfo(*flags, field="Features")).without == without


def test_what_qemu_does_not_have_is_told_in_words() -> None:
    assert read(cpuinfo(*ALL, "sha_ni", "avx512f")).beyond == ("SHA", "AVX-512")


@pytest.mark.parametrize("text", ["", "processor : 0\nfpu : yes\n"])
def test_where_the_kernel_tells_nothing_nothing_is_taken_away(text: str) -> None:
    assert read(text) == HostFeatures((), ())
