"""Talks with a program: hands it its input and takes what it prints, within a time and up to a size."""

import os
import select
import selectors
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from typing import IO, cast

MAX_OUTPUT = 64 << 20
"""Bytes that a command may print; one that prints more is ended."""

KEPT_OUTPUT = 64 << 10
"""Bytes that are kept of what was too much."""

CHUNK_BYTES = 1 << 15
"""Bytes that are read at once."""

END_TIMEOUT = 0.5
"""Seconds in which a program that was ended must be gone. One that left its group may hold the pipes open."""

LATE, TOO_MUCH = "late", "too much"
"""Why it was broken off."""

Program = subprocess.Popen[bytes]


def communicate(program: Program, text: bytes, timeout: float, kill: Callable[[], None]) -> tuple[str, bytes, bytes]:
    """Why it was broken off, if it was, and what the program printed to stdout and stderr; `timeout` in seconds.

    `kill` ends the program with all that it started, and is called where that must be.
    """
    assert program.stdin and program.stdout and program.stderr
    heard = {program.stdout: bytearray(), program.stderr: bytearray()}
    try:
        broken = _listen(program, program.stdin, text, heard, timeout)
        if broken:
            kill()
            _listen(program, program.stdin, b"", heard if broken == LATE else {}, END_TIMEOUT)
    except BaseException:
        kill()
        raise
    finally:
        for pipe in (program.stdin, *heard):
            # Input that nobody took cannot be handed over any more.
            with suppress(OSError):
                pipe.close()
    out, err = (bytes(part[-KEPT_OUTPUT:] if broken == TOO_MUCH else part) for part in heard.values())
    return broken, out, err


def _listen(program: Program, source: IO[bytes], text: bytes, heard: dict[IO[bytes], bytearray], seconds: float) -> str:
    """Listens until the program has ended and closed its output; why that did not come to pass, if it did not."""
    end = time.monotonic() + seconds
    with selectors.PollSelector() as open_pipes:
        for pipe in heard:
            if not pipe.closed:
                open_pipes.register(pipe, selectors.EVENT_READ)
        if text:
            open_pipes.register(source, selectors.EVENT_WRITE)
        else:
            source.close()
        while open_pipes.get_map():
            for key, _ in open_pipes.select(max(0.0, end - time.monotonic())):
                if key.fileobj is source:
                    goes_on = text = _hand_over(key.fd, text)
                else:
                    goes_on = os.read(key.fd, CHUNK_BYTES)
                    heard[cast("IO[bytes]", key.fileobj)] += goes_on
                if not goes_on:
                    open_pipes.unregister(key.fileobj)
                    cast("IO[bytes]", key.fileobj).close()
            if sum(map(len, heard.values())) > MAX_OUTPUT:
                return TOO_MUCH
            if time.monotonic() >= end:
                return LATE
    try:
        program.wait(max(0.0, end - time.monotonic()))
    except subprocess.TimeoutExpired:
        return LATE
    return ""


def _hand_over(pipe: int, text: bytes) -> bytes:
    """Writes as much as the pipe takes at once for certain; what is left, which is nothing where nobody reads."""
    try:
        return text[os.write(pipe, text[: select.PIPE_BUF]) :]
    except BrokenPipeError:
        return b""
