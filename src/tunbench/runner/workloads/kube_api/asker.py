"""Lists the pods of a cluster again and again: `asker.py HOST PORT AUTHORITY TOKEN COUNT INTERVAL TIMEOUT`.

One connection carries all requests, as that of a client of Kubernetes does; where it breaks, the next request opens
another. The next request leaves when its time has come, or as soon as the one before it is answered. It runs in a pod,
by itself.
"""

import json
import ssl
import sys
import time
from http.client import HTTPException, HTTPSConnection
from pathlib import Path

PODS = "/api/v1/pods"


def ask(connection: HTTPSConnection, headers: dict[str, str]) -> tuple[int, int]:
    """The status of one answer, and its bytes."""
    connection.request("GET", PODS, headers=headers)
    answer = connection.getresponse()
    return answer.status, len(answer.read())


def main(host: str, port: str, authority: str, token: str, count: str, interval: str, timeout: str) -> None:
    """Asks, and prints what came of it as JSON."""
    context = ssl.create_default_context(cafile=authority)
    connection = HTTPSConnection(host, int(port), timeout=float(timeout), context=context)
    headers = {"Authorization": f"Bearer {Path(token).read_text().strip()}"}
    report: dict[str, list[object]] = {"starts": [], "latencies": [], "codes": [], "sizes": [], "errors": []}
    began = time.monotonic()
    for number in range(int(count)):
        time.sleep(max(0.0, began + number * float(interval) - time.monotonic()))
        start = time.monotonic()
        try:
            code, size = ask(connection, headers)
        except (OSError, HTTPException) as error:
            report["errors"].append(f"{type(error).__name__}: {error}")
            connection.close()
            continue
        report["latencies"].append(time.monotonic() - start)
        report["starts"].append(start - began)
        report["codes"].append(code)
        report["sizes"].append(size)
    print(json.dumps(report))


if __name__ == "__main__":
    main(*sys.argv[1:])
