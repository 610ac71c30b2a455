"""What the images of the vm lab are made of. Their digests name them in the cache."""

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path

from tunbench.plan.cache_folder import cache
from tunbench.plugins import taken
from tunbench.runner import registry
from tunbench.runner.catalogue import packages
from tunbench.runner.declare import access

BUILD_SECONDS = 150.0
"""Seconds that building the base took on a shared server, with 224 packages to fetch; an add-on builds it as well."""


@dataclass(frozen=True)
class Definition:
    """One image: `packages` of the suite; an add-on holds what they bring beyond the base image."""

    name: str
    packages: tuple[str, ...]
    addon: bool = False
    # Packages of the base that an add-on cannot be installed beside. In the lab the base's files of them stay.
    excludes: tuple[str, ...] = ()
    suite: str = "bookworm"
    architecture: str = "amd64"
    # 2026-01-01T00:00:00Z, the moment at which every VM begins.
    source_date_epoch: int = 1_767_225_600
    # Documentation, and drivers of hardware that the model machine does not have or use.
    without: tuple[str, ...] = (
        "/usr/share/doc/*",
        "/usr/share/info/*",
        "/usr/share/locale/*",
        "/usr/share/man/*",
        *(
            f"{root}/modules/*/kernel/{folder}/*"
            for root in ("/lib", "/usr/lib")
            for folder in (
                "arch/x86/kvm",
                "drivers/crypto/ccp",
                "drivers/gpu",
                "drivers/media",
                "drivers/infiniband",
                "drivers/scsi",
                "drivers/staging",
                "sound",
            )
        ),
    )
    # LZ4 in small blocks costs the guest least: unpacking happens in its virtual time. The last number grows when the
    # way of building changes.
    format: tuple[str, int, int] = ("lz4", 32 << 10, 4)

    @property
    def seconds(self) -> float:
        """About how long building it takes on two free cores, in seconds."""
        return BUILD_SECONDS

    @property
    def build(self) -> str:
        """The command that builds it."""
        return f"tunbench lab build {self.name}"

    @property
    def rebuild(self) -> str:
        """The command that builds it although something is there."""
        return f"tunbench lab build --force {self.name}"

    @property
    def digest(self) -> str:
        """SHA-256 over the definition."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()

    @property
    def folder(self) -> Path:
        """Where the image lies in the cache."""
        return cache() / "images" / f"{self.name}-{self.digest[:12]}"


ADDONS: dict[str, Definition] = {}
"""The add-ons that tunnels and workloads, those of plug-ins too, and accesses declare, by their names."""


def _renew_addons() -> None:
    ADDONS.clear()
    declared_somewhere = (sources.addons for sources in registry.all_sources())
    for declared in (*declared_somewhere, access.ADDONS):
        for one in declared:
            ADDONS[one.name] = Definition(one.name, one.packages, addon=True, excludes=one.excludes)


taken.follow(_renew_addons)

GROUND = (
    *("linux-image-amd64", "kmod", "busybox-static"),
    *("iproute2", "iputils-ping", "ethtool", "nftables", "openssl", "procps", "tcpdump"),
    *("python3-minimal", "libpython3-stdlib"),
)
"""Packages of the base image, whatever is measured: they boot it, make nodes and links, and run the runner."""

ESSENTIAL = ("coreutils",)
"""Packages that every Debian has, though programs of theirs are declared."""

BASE = Definition(
    name="base",
    packages=tuple(
        sorted({*GROUND, *packages()} - {*ESSENTIAL, *(name for one in ADDONS.values() for name in one.packages)})
    ),
)
"""It has besides all that shipped tunnels and workloads declare, but for what stands in an add-on. It is the same with
plug-ins and without: this module is read before any is taken."""

BOOT_MODULES = ("nfit", "nd_pmem", "squashfs", "overlay")
"""Modules that the first stage needs to mount the images."""
