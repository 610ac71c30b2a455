import pytest

from tunbench.executors.choice import DaskChoice, ExecutorError, chosen


@pytest.mark.parametrize(
    ("text", "choice"),
    [
        (None, None),
        ("pool", None),
        ("dask=local:4", DaskChoice("", 4)),
        ("dask=tcp://10.0.0.1:8786", DaskChoice("tcp://10.0.0.1:8786")),
        ("dask=tls://lab-1.example.org:1", DaskChoice("tls://lab-1.example.org:1")),
        ("dask=tcp://[2001:db8::1]:8786", DaskChoice("tcp://[2001:db8::1]:8786")),
    ],
)
def test_an_executor_is_spelled_so(text: str | None, choice: DaskChoice | None) -> None:
    assert chosen(text) == choice


def test_the_pool_has_workers_and_dask_has_its_own() -> None:
    assert chosen("pool", 4) is None
    with pytest.raises(ExecutorError, match="--workers beside --executor dask=local:1"):
        chosen("dask=local:1", 4)


@pytest.mark.parametrize(
    "text",
    [
        *("", "dask", "dask:local:2", "dask=", "dask=local", "dask=local:", "dask=local:0", "dask=local:1001"),
        *("dask=local:-1", "dask=local:٣", "dask=10.0.0.1:8786", "dask=tcp://10.0.0.1", "dask=tcp://:8786"),
        *("dask=tcp://10.0.0.1:0", "dask=tcp://10.0.0.1:65536", "dask=inproc://a:1", "dask=tcp://a:1/x"),
        "dask=tcp://a\nb:1",
    ],
)
def test_nothing_else_is_one(text: str) -> None:
    with pytest.raises(ExecutorError) as error:
        chosen(text)
    assert "\n" not in str(error.value)
