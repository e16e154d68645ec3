"""Bytes and text of log files, also of compressed ones."""

import bz2
import gzip
import lzma
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from nao_testbed.models import BadInput
from nao_testbed.models.files import check_kind

GZIP, BZIP2, XZ = b"\x1f\x8b", b"BZh", b"\xfd7zXZ\x00"
ZSTD, ZIP = b"\x28\xb5\x2f\xfd", b"PK\x03\x04"
"""First bytes of compressed files."""
OPENERS: Mapping[bytes, Callable[..., Any]] = {
    GZIP: gzip.open,
    BZIP2: bz2.open,
    XZ: lzma.open,
}


def packing_of(path: Path) -> bytes:
    """Return the first bytes of a compressed file; empty for another file.

    Raises:
        BadInput: the file cannot be read.
    """
    try:
        check_kind(path)
        with path.open("rb") as file:
            head = file.read(8)
    except OSError as error:
        raise BadInput(
            f"{path} cannot be read: {error.strerror or error}; give a run folder, "
            "a CSV file or a Parquet file."
        ) from error
    return next((m for m in (GZIP, BZIP2, XZ, ZSTD, ZIP) if head.startswith(m)), b"")


@contextmanager
def open_log(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for reading bytes, decompressed according to its first bytes.

    Raises:
        BadInput: the file cannot be read or decompressed, or is an archive of several
            files.
    """
    packing = packing_of(path)
    try:
        if packing in OPENERS:
            with OPENERS[packing](path) as file:
                yield file
        elif packing == ZSTD:
            import pyarrow as pa  # noqa: PLC0415  # slow

            with pa.input_stream(str(path), compression="zstd") as file:
                yield file
        elif packing == ZIP:
            with zipfile.ZipFile(path) as archive:
                names = archive.namelist()
                if len(names) != 1:
                    raise BadInput(
                        f"{path} has {len(names)} files; give an archive of one log."
                    )
                with archive.open(names[0]) as file:
                    yield file
        else:
            with path.open("rb") as file:
                yield file
    except (OSError, EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile) as error:
        if not packing:
            raise
        raise BadInput(
            f"{path} cannot be decompressed: {error}; copy the whole file again."
        ) from error


def read_data(path: Path) -> bytes:
    """Return the decompressed bytes of a file.

    Raises:
        BadInput: as in `open_log`.
    """
    with open_log(path) as file:
        return file.read()


def text_of(path: Path) -> str:
    """Return the text of a file in UTF-8, or as Excel writes it: UTF-16, Windows.

    Raises:
        BadInput: the file cannot be read, or is not text.
    """
    data = read_data(path)
    encodings = ["utf-8-sig", "cp1252"]
    if data[:2] in {b"\xff\xfe", b"\xfe\xff"}:
        encodings = ["utf-16"]
    elif data and 2 * data[:200].count(0) == len(data[:200]):
        encodings = ["utf-16-be" if data[0] == 0 else "utf-16-le"]
    for encoding in encodings:
        with suppress(UnicodeDecodeError):
            return data.decode(encoding)
    raise BadInput(f"{path} is not UTF-8 text; save it as CSV (UTF-8).")
