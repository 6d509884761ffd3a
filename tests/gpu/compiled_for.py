#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""compiled_for.py LIBRARY: it has kernels as machine code of sm_80 and sm_90, and as PTX of
compute_90, which newer GPUs translate. Not by cuobjdump, which not every toolkit has.
"""

import pathlib
import struct
import sys

# What nvcc embeds: a header, and entries with headers of their own (kind, …, architecture).
FAT_BINARY = struct.pack("<IH", 0xBA55ED50, 1)
PTX, MACHINE_CODE = 1, 2
WANTED = {
    (MACHINE_CODE, 80): "machine code of sm_80",
    (MACHINE_CODE, 90): "machine code of sm_90",
    (PTX, 90): "PTX of compute_90",
}


def entries(data):
    """(kind, architecture) of all that is embedded."""
    at = data.find(FAT_BINARY)
    while at >= 0:
        header, size = struct.unpack_from("<HQ", data, at + 6)
        entry, end = at + header, at + header + size
        while entry + 32 <= end:
            kind, _, own_header, payload = struct.unpack_from("<HHIQ", data, entry)
            yield kind, struct.unpack_from("<I", data, entry + 28)[0]
            entry += own_header + payload
        at = data.find(FAT_BINARY, end)


def main(path):
    found = set(entries(pathlib.Path(path).read_bytes()))
    missing = [name for key, name in WANTED.items() if key not in found]
    for name in missing:
        print(f"FAILED: {path} has no {name}; it has {sorted(found)} (1: PTX, 2: machine code)")
    print(f"{len(WANTED) - len(missing)} of {len(WANTED)} found")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
