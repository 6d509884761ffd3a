#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Each source file under version control begins with the SPDX identifier of the licence, behind `#!` if
there is one. Run in the root of the sources; with --add, writes the line where it is missing."""

import pathlib
import subprocess
import sys

LINE = "SPDX-License-Identifier: BSD-3-Clause"
BEGIN = (dict.fromkeys((".hpp", ".ipp", ".cpp", ".cu", ".cuh"), "// {}")
         | dict.fromkeys((".c", ".h"), "/* {} */") | dict.fromkeys((".f90", ".inc"), "! {}")
         | dict.fromkeys((".py", ".sh", ".bash", ".cmake"), "# {}"))


def line_of(path, text):
    """The line that a file needs; None for data, documents and settings."""
    if path.parts[0] == "docs" or "corpus" in path.parts:
        return None
    begin = BEGIN.get(path.suffix)
    if text.startswith("#!") or path.name.startswith("CMakeLists") or path.name.endswith(".cmake.in"):
        begin = "# {}"
    return begin and begin.format(LINE)


def main(adds):
    listed = subprocess.run(["git", "ls-files"], capture_output=True, text=True, check=False).stdout
    if not listed:
        print("SKIPPED: no sources under version control")
        return 77
    lacking = number = 0
    for path in map(pathlib.Path, listed.splitlines()):
        try:
            text = path.read_text(encoding="utf-8")
        except (UnicodeDecodeError, FileNotFoundError):
            continue
        wanted = line_of(path, text)
        if wanted is None:
            continue
        number += 1
        first, _, rest = text.partition("\n") if text.startswith("#!") else ("", "", text)
        if rest.startswith(wanted + "\n"):
            continue
        if adds:
            path.write_text(f"{first}\n{wanted}\n{rest}" if first else f"{wanted}\n{rest}", encoding="utf-8")
        else:
            print(f"{path}: does not begin with {wanted}")
            lacking += 1
    print(f"{number} sources, {lacking} without a licence")
    return 1 if lacking else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] == ["--add"]))
