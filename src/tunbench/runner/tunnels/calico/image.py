"""Makes an image for containers of one static program (OCI image layout): `image.py FILE NAME PROGRAM…`.

It runs on a node, by itself.
"""

import hashlib
import io
import json
import sys
import tarfile
from pathlib import Path

BUSYBOX = Path("/usr/bin/busybox")

FOLDERS = ("tmp", "etc", "proc", "sys", "dev", "run", "var", "root", "usr", "mnt", "mnt/lab")

LINKS = {"bin": "usr/bin", "sbin": "usr/sbin", "lib": "usr/lib", "lib64": "usr/lib64"}

MANIFEST = "application/vnd.oci.image.manifest.v1+json"


def entry(name: str, **fields: object) -> tarfile.TarInfo:
    """A member of an archive, of root, without a time."""
    info = tarfile.TarInfo(name)
    for field, value in {"mode": 0o755, **fields}.items():
        setattr(info, field, value)
    return info


def layer() -> bytes:
    """The files of the image."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name in FOLDERS:
            archive.addfile(entry(name, type=tarfile.DIRTYPE))
        for name, to in LINKS.items():
            archive.addfile(entry(name, type=tarfile.SYMTYPE, linkname=to))
        content = BUSYBOX.read_bytes()
        archive.addfile(entry("busybox", size=len(content)), io.BytesIO(content))
    return out.getvalue()


def main(file: str, name: str, *program: str) -> None:
    """Writes the image."""
    blobs: dict[str, bytes] = {}

    def blob(kind: str, content: bytes) -> dict[str, object]:
        digest = hashlib.sha256(content).hexdigest()
        blobs[f"blobs/sha256/{digest}"] = content
        return {"mediaType": kind, "digest": f"sha256:{digest}", "size": len(content)}

    content = layer()
    files = blob("application/vnd.oci.image.layer.v1.tar", content)
    configuration = {
        **{"architecture": "amd64", "os": "linux", "created": "2026-01-01T00:00:00Z"},
        "config": {"Entrypoint": list(program), "Env": ["PATH=/usr/sbin:/usr/bin:/usr/local/bin"], "WorkingDir": "/"},
        "rootfs": {"type": "layers", "diff_ids": [files["digest"]]},
    }
    head = blob("application/vnd.oci.image.config.v1+json", json.dumps(configuration).encode())
    manifest = {"schemaVersion": 2, "mediaType": MANIFEST, "config": head, "layers": [files]}
    named = {"io.containerd.image.name": name, "org.opencontainers.image.ref.name": name.rpartition(":")[2]}
    platform = {"architecture": "amd64", "os": "linux"}
    top = {**blob(MANIFEST, json.dumps(manifest).encode()), "annotations": named, "platform": platform}
    texts = {
        "oci-layout": json.dumps({"imageLayoutVersion": "1.0.0"}).encode(),
        **blobs,
        "index.json": json.dumps({"schemaVersion": 2, "manifests": [top]}).encode(),
    }
    with tarfile.open(file, "w") as archive:
        for path, text in texts.items():
            archive.addfile(entry(path, size=len(text)), io.BytesIO(text))


if __name__ == "__main__":
    main(*sys.argv[1:])
