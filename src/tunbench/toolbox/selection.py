"""What a run takes along of the toolbox, and what its stacks and workloads lack of it."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from tunbench.labs import image, unbuilt
from tunbench.labs.extras import Extra, ExtraKind, Needing, extras_of, programs_of
from tunbench.labs.image import Image
from tunbench.labs.vm.image_definition import ADDONS
from tunbench.runner.declare.options import nearest
from tunbench.toolbox import brought_programs
from tunbench.toolbox.command import ToolError
from tunbench.toolbox.tools import TOOLS, Tool, UnknownTool, tool


class ToolboxNeeds(NamedTuple):
    """What stacks and workloads need: `tools`, and `files` of brought programs, each None where it is not there.

    `unused` are programs that were brought, and that no stack declares.
    """

    tools: tuple[str, ...]
    files: Mapping[str, str | None]
    unused: tuple[str, ...] = ()

    @property
    def notes(self) -> list[str]:
        """One line for what has to be installed, and one for each program that has to be brought, or needs not be."""
        lines = unbuilt.lines([TOOLS[name] for name in self.tools], unbuilt.TOOLBOX_INSTALL)
        lines += [
            f"not on PATH: {name}; {brought_programs.how_to_bring(name)}"
            for name, file in self.files.items()
            if file is None
        ]
        return lines + [f"not used: --tool {name}; no stack of the plan needs it" for name in self.unused]


def needs_of(needing: Iterable[Needing], given: Mapping[str, str]) -> ToolboxNeeds:
    """What stacks and workloads need of the toolbox and of the user, who has given some files. Raises ToolError.

    A file that is given or configured takes the place of a program that Debian or the toolbox has.
    """
    needing = set(needing)
    names: dict[ExtraKind, set[str]] = {"tools": set(), "brought": set()}
    for one in needing:
        for kind, name in extras_of(one):
            names[kind].add(name)
    programs = {name for one in needing for name in programs_of(one)}
    own = {**brought_programs.configured(), **given}
    replaced = {name: file for name, file in own.items() if name in programs}
    found = brought_programs.files_at_hand(names["brought"], given)
    files = {name: found.get(name) for name in names["brought"]} | replaced
    # Of a tool whose programs are all brought nothing is used.
    used = {name: programs.intersection(TOOLS[name].programs) for name in names["tools"]}
    tools = [name for name, those in used.items() if not those or those - replaced.keys()]
    return ToolboxNeeds(tuple(sorted(tools)), dict(sorted(files.items())), tuple(sorted(given.keys() - files)))


def at_hand(needs: ToolboxNeeds) -> tuple[Extra, ...]:
    """What is there of it now; what comes later is not taken along. Raises ToolError and ImageError.

    A damaged tool is taken along: the lab refuses it, and nobody measures without it by mistake.
    """
    tools = [TOOLS[name] for name in needs.tools if image.is_there(TOOLS[name])]
    programs = [brought_programs.packed_program(name, file) for name, file in needs.files.items() if file]
    return (*tools, *programs)


def named_tools(names: Iterable[str]) -> list[Tool]:
    """The tools of these names, each once. Raises UnknownTool, also where a program is meant that a user brings."""
    names = list(dict.fromkeys(names))
    for name in names:
        if name in brought_programs.declared_programs():
            how = brought_programs.how_to_bring(name)
            raise UnknownTool(f"{name} is no tool of the toolbox, but a program of yours: {how}")
    return [tool(name) for name in names]


def images(names: Iterable[str]) -> list[Image]:
    """The images of these add-ons, tools and brought programs. Raises ToolError and ImageError."""
    names = list(names)
    known: dict[str, Image] = {**ADDONS, **TOOLS}
    declared = brought_programs.declared_programs()
    files = brought_programs.files_at_hand(declared.intersection(names), {})
    found: list[Image] = []
    for name in names:
        if name in known:
            image.check(known[name])
            found.append(known[name])
        elif name in files:
            found.append(brought_programs.packed_program(name, files[name]))
        elif name in declared:
            raise ToolError(
                f"{name} is not on PATH; put it there, or name its file in {brought_programs.config_file()}, below "
                f'[tools]: {name} = "FILE" (docs/toolbox.md#bring-a-program)'
            )
        else:
            raise ToolError(f'there is no image "{name}"{nearest(name, [*known, *sorted(declared)])}')
    return found
