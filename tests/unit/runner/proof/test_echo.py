"""Echo requests whose payload nothing makes smaller."""

import lzma
import struct
import zlib

from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.fakes import MARKER
from tunbench.runner.proof import echo, proof


@given(st.binary(min_size=16, max_size=16))
def test_a_payload_begins_with_its_marker_and_does_not_compress(marker: bytes) -> None:
    data = proof.payload(marker)
    assert len(data) == proof.PAYLOAD
    assert data.startswith(marker)
    assert min(len(zlib.compress(data, 9)), len(lzma.compress(data))) > proof.PAYLOAD


def test_another_marker_has_another_payload() -> None:
    assert proof.payload(MARKER)[16:] != proof.payload(bytes(16))[16:]


@given(st.binary(min_size=512, max_size=512), st.integers(0, 65535))
def test_the_checksum_of_a_whole_request_is_zero(data: bytes, number: int) -> None:
    packet = echo.request(8, number, data)
    assert echo.checksum(packet) == 0
    assert struct.unpack("!BBHHH", packet[:8])[::4] == (8, number)


def test_a_checksum_by_hand() -> None:
    # RFC 1071, section 3: the sum of 0001 f203 f4f5 f6f7 is ddf2, and its complement 220d.
    assert echo.checksum(bytes.fromhex("0001f203f4f5f6f7")) == 0x220D
