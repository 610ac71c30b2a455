"""Whether what of a journal is for others tells nothing of its author's machine."""

from tunbench.journal.excerpt import excerpt


def test_an_error_of_the_authors_machine_stays_with_the_author() -> None:
    text = "[Errno 28] No space left on device: '/home/alice/.cache/tunbench/templates/a'"
    line = {"shard": "a1", "event": "warning", "name": "fresh-boot", "text": text}
    assert excerpt(line) == {**line, "text": "what failed is told to its author alone"}


def test_a_warning_of_the_lab_is_for_others() -> None:
    line = {"shard": "a1", "event": "warning", "name": "link-differs", "text": "a/eth0: rate is 10M"}
    assert excerpt(line) == line
