#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The C++ in README.md, in docs/ and in the examples of doc comments compiles: docs_code.py COMPILER
[FLAG…], run in the root of the sources.

A block with a main() is a program, of which readme.py compiles the first, and runs it. Other blocks of a
page stand in one namespace, one that begins with a declaration as it is, any other in a function; what
they call comm, data and so on is declared in docs_code.hpp. In headers a block is what is indented in a
doc comment below the line "/// Example:".
"""

import pathlib
import re
import subprocess
import sys
import tempfile

INCLUDES = re.compile(r"^#include .*\n", re.MULTILINE)
DECLARES = re.compile(r"(struct|class|template|bool|namespace)\b")
EXAMPLE = re.compile(r"^ *///? Example:\n *///?\n((?: *///?     .*\n)+)", re.MULTILINE)
HERE = pathlib.Path(__file__).resolve().parent


def blocks(page):
    """(line, code) of each block of C++."""
    text = page.read_text(encoding="utf-8")
    if page.suffix == ".hpp":
        for match in EXAMPLE.finditer(text):
            code = re.sub(r"^ *///?     ", "", match.group(1), flags=re.MULTILINE)
            yield text.count("\n", 0, match.start(1)) + 1, code
        return
    for match in re.finditer(r"^```cpp\n(.*?)^```$", text, re.DOTALL | re.MULTILINE):
        yield text.count("\n", 0, match.start(1)) + 1, match.group(1)


def unit_of(pages):
    includes, body, programs, count = set(), [], [], 0
    for number, page in enumerate(pages):
        body.append(f"namespace page_{number} {{")
        for line, code in blocks(page):
            count += 1
            if "int main(" in code:
                programs.append((page, line, code))
                continue
            includes.update(INCLUDES.findall(code))
            code = INCLUDES.sub("\n", code)
            body.append(f"// {page}:{line}")
            place = f'#line {line} "{page}"\n'
            if DECLARES.match(code.lstrip()):
                body.append(place + code)
            else:
                body.append(f"void block_{line}() {{\n{place}{code}\n}}")
        body.append("}")
    return "".join(sorted(includes)) + '#include "docs_code.hpp"\n' + "\n".join(body), programs, count


def main(command):
    if not command:
        print(__doc__, file=sys.stderr)
        return 2
    headers = [path for root in ("include", "gpu/include", "analysis/include")
               for path in sorted(pathlib.Path(root).rglob("*.hpp"))]
    pages = [pathlib.Path("README.md"), *sorted(pathlib.Path("docs").rglob("*.md")),
             *(h for h in headers if any(blocks(h)))]
    unit, programs, count = unit_of(pages)
    failed = 0
    with tempfile.TemporaryDirectory() as directory:
        files = [("fragments", unit)] + [(f"{p}:{line}", code) for p, line, code in programs[1:]]
        for number, (what, code) in enumerate(files):
            # Programs as a reader compiles them; fragments without what has no say in it.
            compiled = ["-DPAPCOLL_COMPILED"] if what == "fragments" else []
            source = pathlib.Path(directory) / f"{number}.cpp"
            source.write_text(code, encoding="utf-8")
            flags = ["-std=c++20", "-fsyntax-only", *compiled, f"-I{HERE}", "-Iinclude", "-Igpu/include",
                     "-Ianalysis/include"]
            if subprocess.run([*command, *flags, source]).returncode != 0:
                print(f"FAILED: {what}")
                failed += 1
    print(f"{count} blocks of C++ in {len(pages)} pages, {len(programs)} of them programs, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
