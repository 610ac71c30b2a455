"""Golden plans: what a plan expands to, and the exact message for every mistake that a plan can have.

`errors/CASE.toml` is a plan with a mistake and `errors/CASE.txt` its message, in which the file is named as the user
named it; a case without a plan is one of a missing file. `plans/NAME.toml` is a plan and `plans/NAME.json` its shards.

After a change that is meant, write the expectations anew and read the difference:

    TUNBENCH_UPDATE_GOLDEN=1 pytest tests/golden && git diff tests/golden
"""

import json
import os
from pathlib import Path

import pytest

from tunbench.plan.expand import expand
from tunbench.plan.load import PlanError, load

HERE = Path(__file__).parent
UPDATE = bool(os.environ.get("TUNBENCH_UPDATE_GOLDEN"))

ERRORS = sorted({path.stem for path in (HERE / "errors").iterdir() if path.suffix in (".toml", ".txt")})
PLANS = sorted(path.stem for path in (HERE / "plans").glob("*.toml"))


def compare(file: Path, text: str) -> None:
    if UPDATE:
        file.write_text(text)
    assert text == file.read_text()


@pytest.mark.parametrize("case", ERRORS)
def test_message(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(HERE / "errors")
    with pytest.raises(PlanError) as caught:
        load(f"{case}.toml")
    compare(Path(f"{case}.txt"), f"{caught.value}\n")


@pytest.mark.parametrize("name", PLANS)
def test_shards(name: str) -> None:
    shards = expand(load(str(HERE / "plans" / f"{name}.toml")).plan)
    described = [{"id": shard.id, **shard.spec()} for shard in shards]
    compare(HERE / "plans" / f"{name}.json", json.dumps(described, indent=1) + "\n")
