import struct

import pytest

from tests.helpers.fakes import CAPTURED, MARKER, pcap
from tunbench.runner.proof.pcap import moments, network_layer, read

SMALL = (CAPTURED / "small.pcap").read_bytes()


def packets(data: bytes) -> list[bytes]:
    """The bytes of the packets in a file."""
    return [packet.data for packet in read(data).packets]


def test_a_real_capture_has_its_packets() -> None:
    found = packets(SMALL)
    assert [len(packet) for packet in found] == [106] * 6 + [70]
    assert [MARKER in packet for packet in found] == [True] * 6 + [False]


@pytest.mark.parametrize("order", ["<", ">"])
def test_both_byte_orders_are_read(order: str) -> None:
    sent = [b"first", b"", b"x" * 3000]
    assert packets(pcap(sent, order)) == sent


def test_the_other_byte_order_is_really_another() -> None:
    assert pcap([], "<") != pcap([], ">")


def test_the_captured_length_counts_and_not_that_on_the_wire() -> None:
    data = pcap([]) + struct.pack("<IIII", 0, 0, 3, 1500) + b"abc" + struct.pack("<IIII", 0, 0, 2, 2) + b"de"
    assert packets(data) == [b"abc", b"de"]


def ethernet(kept: int, sent: int) -> bytes:
    """A capture of an Ethernet packet that had so many bytes, of which so many were kept."""
    return pcap([]) + struct.pack("<IIII", 0, 0, kept, sent) + bytes(kept)


@pytest.mark.parametrize(("kept", "sent", "size"), [(15, 15, 1), (1514, 1514, 1500), (65535, 65549, 65521)])
def test_a_size_is_without_the_link_header(kept: int, sent: int, size: int) -> None:
    assert [len(one) for one in network_layer(read(ethernet(kept, sent)))] == [size]


@pytest.mark.parametrize(("kept", "sent"), [(0, 0), (13, 13), (14, 14), (14, 1500), (1499, 1500), (0, 65549)])
def test_a_packet_that_was_cut_has_no_size(kept: int, sent: int) -> None:
    with pytest.raises(ValueError, match=f"has {kept} B of a packet of {sent} B, whose link header has 14 B"):
        network_layer(read(ethernet(kept, sent)))


@pytest.mark.parametrize("kept", [24, 25, 24 + 15, 24 + 16 + 106, 24 + 16 + 106 + 7])
def test_a_file_that_is_torn_between_or_in_the_head_of_packets_has_the_whole_ones(kept: int) -> None:
    assert packets(SMALL[:kept]) == packets(SMALL)[: (kept - 24) // 122]


def test_a_packet_that_is_torn_is_none() -> None:
    assert packets(SMALL[: 24 + 122 + 16 + 50]) == packets(SMALL)[:1]


@pytest.mark.parametrize(
    "content", [b"", b"\xd4\xc3\xb2", b"tcpdump: no such device\n", b"\x0a\x0d\x0d\x0a" + bytes(40)]
)
def test_what_is_no_capture_is_an_error(content: bytes) -> None:
    with pytest.raises(ValueError, match="is no pcap file"):
        read(content)


@pytest.mark.parametrize(("kind", "size"), [(1, 86), (12, 100), (101, 100), (113, 84), (276, 80)])
def test_sizes_are_those_of_the_network_layer(kind: int, size: int) -> None:
    data = bytearray(pcap([bytes(100)]))
    data[20] = kind & 0xFF
    data[21] = kind >> 8
    assert [len(one) for one in network_layer(read(bytes(data)))] == [size]


def test_an_unknown_link_type_is_told() -> None:
    data = bytearray(pcap([]))
    data[20] = 99
    with pytest.raises(ValueError, match="unknown link type 99"):
        network_layer(read(bytes(data)))


def test_the_moments_of_a_capture_are_those_of_its_packets() -> None:
    data = (CAPTURED / "proof-wireguard.pcap").read_bytes()
    found = moments(data)
    assert len(found) == len(read(data).packets)
    assert found == sorted(found) and 0 < found[-1] - found[0] < 10
    with pytest.raises(ValueError, match="is no pcap file"):
        moments(b"")
