"""What docs/plans.md says of the shipped plans and profiles, and of how large a plan may be, is what there is."""

import re

import pytest

from tests.helpers.documentation import ROOT, named, page, rows
from tunbench.labs.vm.image_definition import ADDONS
from tunbench.plan.axes import profile
from tunbench.plan.expand import expand
from tunbench.plan.load import load
from tunbench.plan.toml import bounds
from tunbench.runner import invocation, registry, stack
from tunbench.runner.catalogue import variants
from tunbench.runner.declare import spelling


def shipped_plans() -> list[str]:
    """The names of the shipped plans."""
    return sorted(path.stem for path in (ROOT / "src/tunbench/plan/plans").glob("*.toml"))


def test_every_shipped_plan_is_on_the_page() -> None:
    assert sorted(named(" ".join(cells[0] for cells in rows(page("plans.md"), "plan")))) == shipped_plans()


@pytest.mark.parametrize("name", shipped_plans())
def test_a_shipped_plan_is_counted_right(name: str) -> None:
    [text] = [cells[1] for cells in rows(page("plans.md"), "plan") if cells[0] == f"`{name}`"]
    shards = expand(load(name).plan)
    counted = {
        "stack": len({one.stack for one in shards}),
        "profile": len({one.profile.name for one in shards}),
        "tuning": len({one.tuning.name for one in shards}),
        "repeat": len({one.repeat for one in shards}),
    }
    told = {what: int(number) for number, what in re.findall(r"(\d+) (stack|profile|tuning|repeat)s?\b", text)}
    assert told == {what: counted[what] for what in told}


@pytest.mark.parametrize("name", shipped_plans())
def test_what_a_shipped_plan_needs_beyond_the_images_is_said(name: str) -> None:
    [text] = [cells[1] for cells in rows(page("plans.md"), "plan") if cells[0] == f"`{name}`"]
    parts = [part for one in load(name).plan.axes["stack"] for part in spelling.stack(one)]
    needs = [stack.declared(part).needs for part in parts]
    needs += [invocation.read(one).needs for one in load(name).plan.axes["workload"]]
    assert any(one.tools for one in needs) == ("tools" in text)
    assert any(one.brought for one in needs) == ("brought" in text)
    built = set(re.findall(r'^images="(.*?)"', (ROOT / "scripts/setup").read_text(), re.MULTILINE)[0].split())
    missing = {addon for one in needs for addon in one.addons} - built
    assert missing == {addon for addon in ADDONS if f"tunbench lab build {addon}" in text}


def test_the_mesh_vpns_that_grow_are_those_that_are_compared() -> None:
    growing, compared = ({one.partition(":")[0] for one in load(n).plan.axes["stack"]} for n in ("scale", "mesh-vpns"))
    assert growing == compared - {"none"}


def test_every_tunnel_of_the_images_is_in_the_plan_of_every_tunnel() -> None:
    layers = {part.name for one in load("every-tunnel").plan.axes["stack"] for part in spelling.stack(one)}
    needs = {name: registry.tunnel(name).about.needs for name in registry.tunnel_names()}
    beyond = {name for name, needed in needs.items() if needed.tools or needed.brought}
    assert layers == set(registry.tunnel_names()) - beyond


def test_every_choice_whose_programs_are_in_the_images_is_in_the_plan_of_every_tunnel() -> None:
    parts = [part for one in load("every-tunnel").plan.axes["stack"] for part in spelling.stack(one)]
    for name in {part.name for part in parts}:
        choices = {option: about for option, about in registry.tunnel(name).takes().items() if about.choices}
        for option in choices.keys() - {"inner", "outer"}:
            used = {dict(part.options).get(option, choices[option].default) for part in parts if part.name == name}
            there = variants(name)
            beyond = {
                one for one in choices[option].choices if there.get(f"{name}:{option}={one}", there[name]).needs.tools
            }
            assert set(choices[option].choices) - beyond <= used, (name, option)


def test_how_large_a_plan_may_be_is_said() -> None:
    told = page("plans.md")
    for sentence in (
        f"at most {bounds.MAX_FILE_BYTES >> 10} KiB, lists of {bounds.MAX_LIST_ENTRIES:,} entries",
        f"entries and of {bounds.MAX_SWEPT_VALUES:,} values",
        f"(stacks: of {bounds.MAX_LAYERS:,} layers)",
        f"{bounds.MAX_SCALES} scales of {bounds.MAX_VALUES_OF_SCALES:,} values together",
        f"values together, {bounds.MAX_CUT_TABLES} tables of `include`",
        f"{bounds.MAX_SHARDS:,} shards and {bounds.MAX_TRIALS:,} trials",
        f"tables and lists {bounds.MAX_NESTING} deep",
        f"at most {bounds.MAX_SPELLING_CHARACTERS:,} characters",
        f"characters, patterns and names of sysctls {bounds.MAX_PATTERN_CHARACTERS};",
        f"a tuning has at most {bounds.MAX_SYSCTLS} sysctls",
        f"1 to {bounds.MAX_REPEATS:,}",
        f"One entry may stand for at most {bounds.MAX_SWEPT_VALUES:,} values",
    ):
        assert sentence in told, sentence


def test_the_terms_of_the_shipped_profiles_are_those_of_the_page() -> None:
    told = {named(cells[0])[0]: cells[1:] for cells in rows(page("plans.md"), "profile, each direction")}
    assert told == {name: shown(dict(one.forward)) for name, one in profile.shipped().items()}


def shown(terms: dict[str, float | str]) -> list[str]:
    """A row of the table of profiles, from terms in SI units."""
    value = {name: float(number) for name, number in terms.items()}
    if not value:
        return ["0", "0", "0"]
    return [
        f"{1000 * value['delay']:g} ± {1000 * value['jitter']:g} ms",
        f"{100 * value['loss']:g} %",
        f"{100 * value['reorder']:g} % ({100 * value['reorder_correlation']:g} %)",
    ]
