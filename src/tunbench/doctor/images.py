"""Examines the images of the vm lab, and those of the toolbox, to the last byte."""

from tunbench.doctor.host_check import ADDON, TOOLBOX, HostCheck
from tunbench.labs import image
from tunbench.labs.image import Image
from tunbench.labs.vm.image_definition import ADDONS, BASE
from tunbench.toolbox.tools import TOOLS, Tool


def base() -> HostCheck:
    """The image that every VM boots."""
    found = _built("vm lab: image", BASE)._replace(needed=True)
    return found if found.ok or image.is_there(BASE) else found._replace(mend="tunbench lab build")


def addons() -> list[HostCheck]:
    """A row for each image that some tunnels, workloads and accesses need besides."""
    return [_built(f"{ADDON}{one.name}", one) for one in ADDONS.values()]


def tools() -> list[HostCheck]:
    """A row for each tool of the toolbox."""
    return [_tool(one) for one in TOOLS.values()]


def _built(what: str, one: Image) -> HostCheck:
    """Whether an image can be used, what it holds, and the command that builds it, anew where something is there."""
    try:
        manifest = image.check(one)
    except image.ImageError as error:
        mend = one.rebuild if image.is_there(one) else one.build
        # Most of these messages end with the mend, which stands beside them.
        found = str(error).rpartition("; ")[0] if str(error).endswith(mend) else str(error)
        return HostCheck(what, False, found, mend)
    count = len(manifest["packages"])
    return HostCheck(what, True, f"{manifest['digest'][:12]}, {count} package{'s' if count != 1 else ''}")


def _tool(tool: Tool) -> HostCheck:
    row = _built(f"{TOOLBOX}{tool.name}", tool)
    if row.ok:
        return row._replace(found=f"{tool.version}, {', '.join(tool.programs)}")
    return row if image.is_there(tool) else row._replace(found="not installed")
