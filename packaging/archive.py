"""Packs a folder so that the same files give the same bytes on every system, and writes a checksum beside the archive.

archive.py FOLDER ARCHIVE, where ARCHIVE ends in .tar.gz or .zip.
"""

import gzip
import hashlib
import io
import os
import stat
import sys
import tarfile
import zipfile
from pathlib import Path

folder, archive = Path(sys.argv[1]), Path(sys.argv[2])
files = sorted(path for path in folder.rglob("*") if path.is_file())
# A zip cannot hold an earlier year than 1980.
moment = int(os.environ.get("SOURCE_DATE_EPOCH", "315532800"))


def name(path: Path) -> str:
    return path.relative_to(folder.parent).as_posix()


def mode(path: Path) -> int:
    # Windows knows no such permission: there, programs are named by their suffix.
    return 0o755 if path.suffix == ".exe" or path.stat().st_mode & stat.S_IXUSR else 0o644


content = io.BytesIO()
if archive.name.endswith(".zip"):
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as packed:
        for path in files:
            info = zipfile.ZipInfo(name(path))
            info.create_system = 3
            info.external_attr = mode(path) << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            packed.writestr(info, path.read_bytes())
elif archive.name.endswith(".tar.gz"):
    with gzip.GzipFile(fileobj=content, mode="wb", compresslevel=9, mtime=0, filename="") as stream:
        with tarfile.open(fileobj=stream, mode="w", format=tarfile.USTAR_FORMAT) as packed:
            for path in files:
                info = tarfile.TarInfo(name(path))
                info.size, info.mode, info.mtime = path.stat().st_size, mode(path), moment
                with path.open("rb") as file:
                    packed.addfile(info, file)
else:
    sys.exit(f"archive: {archive.name} ends neither in .tar.gz nor in .zip")
archive.write_bytes(content.getvalue())
digest = hashlib.sha256(content.getvalue()).hexdigest()
archive.with_name(archive.name + ".sha256").write_text(f"{digest}  {archive.name}\n", newline="\n")
