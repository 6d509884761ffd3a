#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""headers.py COMPILER FLAGS-FILE DIRECTORY: all headers compile together without a warning, in one
order by g++ and in the other by clang++ (clang-tidy reads them in the first), and none defines anything
that two translation units could not both have; and every one compiles alone, or behind those that it
includes anyway, and twice, but for the standard library, see precompiled.sh.

What a header forgets to include does not depend on the compiler where both have the same standard
library, so that one of them looks for it: clang++, or g++ where there is none. A header is compiled
behind a precompiled one that it includes anyway, so that nothing is there but what it asked for, and
little is read: those that save most are precompiled.
"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

# Compiled by tests/scotch, and by tests/profile: it defines MPI's functions.
ELSEWHERE = {"papcoll/baselines/scotch.hpp", "papcoll/profile/record_mpi.hpp"}
CUDA = {"papcoll/gpu/cuda_runtime.hpp", "papcoll/gpu/cuda_faults.hpp",
        "papcoll/gpu/transport/cuda_ipc_transport.hpp"}


class Headers:
    """The texts of all headers, and what each includes in any case."""

    def __init__(self):
        self.texts = {}
        for top in map(pathlib.Path, ("include", "gpu/include", "analysis/include")):
            for file in sorted((top / "papcoll").rglob("*.[hi]pp")):
                self.texts[str(file.relative_to(top))] = file.read_text(encoding="utf-8")
        self._included = {}
        self.lines = {name: text.count("\n") for name, text in self.texts.items()}

    def included(self, name):
        if name not in self._included:
            found = set()
            for direct in self._directly_included(name):
                found |= {direct} | self.included(direct)
            self._included[name] = found
        return self._included[name]

    def _directly_included(self, name):
        """But not what an #if may leave out."""
        depth = 0
        for directive, rest in re.findall(r"^\s*#\s*(\w+)(.*)", self.texts[name], re.MULTILINE):
            if directive.startswith("if"):
                depth += 1
            elif directive == "endif":
                depth -= 1
            elif directive == "include" and depth == 0:
                header = rest.strip(" <>")
                if header in self.texts:
                    yield header

    def size(self, name):
        """Lines that are read for it."""
        return self.lines[name] + sum(self.lines[other] for other in self.included(name))


def worth_precompiling(headers, names):
    """Headers to be precompiled, and for each header the one behind which it is compiled."""
    making = 12000  # what it costs to precompile one, in lines, beside what is read for it
    size = {name: headers.size(name) for name in names}
    behind = dict.fromkeys(names)

    def saved(candidate):
        return -size[candidate] - making + sum(
            max(0, size[candidate] - (size[behind[name]] if behind[name] else 0))
            for name in names if candidate in headers.included(name))

    chosen = []
    while True:
        best = max((name for name in names if name not in chosen), key=saved, default=None)
        if best is None or saved(best) <= 0:
            return chosen, behind
        chosen.append(best)
        for name in names:
            if best in headers.included(name) and (
                    behind[name] is None or size[best] > size[behind[name]]):
                behind[name] = best


def chains(headers, names, behind):
    """The names in lists, each of which includes the one before it and is compiled behind the same:
    compiled one after the other, none finds more than it includes. As few lists as can be (Dilworth:
    a matching of each with one that includes it)."""
    next_of, previous_of = {}, {}

    def matched(name, seen):
        for other in names:
            if other in seen or behind[other] != behind[name] or name not in headers.included(other):
                continue
            seen.add(other)
            if other not in previous_of or matched(previous_of[other], seen):
                next_of[name], previous_of[other] = other, name
                return True
        return False

    for name in names:
        matched(name, set())
    for name in names:
        if name not in previous_of:
            chain = [name]
            while chain[-1] in next_of:
                chain.append(next_of[chain[-1]])
            yield chain


class Compiler:
    def __init__(self, program, flags):
        self.command = [program, "@" + flags]

    def run(self, text, *options, quiet=False):
        """Is it compiled without an error?"""
        return subprocess.run([*self.command, *options, "-x", "c++", "-"], input=text, text=True,
                              capture_output=quiet, check=False).returncode == 0

    def precompile(self, header, file, *options):
        return subprocess.run([*self.command, *options, "-x", "c++-header", header, "-o", file],
                              check=False).returncode == 0


def text_of(names):
    return "".join(f"#include <{name}>\n" for name in names)


def each_alone(compiler, headers, names, precompiled, is_clang):
    """Those that do not compile alone."""
    alone = ["-DPAPCOLL_COMPILED", "-fsyntax-only"]  # the shared code is compiled with all together
    if not is_clang:  # cannot precompile behind what is precompiled
        return [name for name in names
                if not compiler.run(text_of([name, name]), *alone, "-include", precompiled)]
    failed = []
    chosen, behind = worth_precompiling(headers, names)
    with tempfile.TemporaryDirectory() as directory:
        made = {None: f"{precompiled}.pch"}
        for name in chosen:
            source = pathlib.Path(directory, f"{len(made)}.hpp")
            source.write_text(text_of([name]), encoding="utf-8")
            made[name] = made[None]
            # Behind the standard library alone: clang++ 14 crashes on longer chains.
            if compiler.precompile(source, f"{source}.pch", "-DPAPCOLL_COMPILED",
                                   "-fpch-instantiate-templates", "-include-pch", made[None]):
                made[name] = f"{source}.pch"
        for chain in chains(headers, names, behind):
            text = text_of(name for name in chain for _ in range(2))
            if not compiler.run(text, *alone, "-include-pch", made[behind[chain[0]]]):
                failed.append(" or ".join(chain))
    return failed


def main(program, flags, directory):
    if not shutil.which(program):
        print(f"SKIPPED: no {program}")
        return 77
    compiler = Compiler(program, flags)
    headers = Headers()
    left_out = set(ELSEWHERE)
    if "PAPCOLL_WITH_HWLOC" not in pathlib.Path(flags).read_text(encoding="utf-8"):
        left_out.add("papcoll/topology/hwloc.hpp")  # where it is not configured: tests/hwloc
    if not compiler.run("#include <cuda_runtime_api.h>\n", "-fsyntax-only", quiet=True):
        left_out |= CUDA
    names = [name for name in headers.texts if name.endswith(".hpp") and name not in left_out]
    failures = []

    is_clang = program.startswith("clang")
    alone = is_clang or not shutil.which("clang++")
    if alone:
        failures += each_alone(compiler, headers, names,
                               f"{directory}/others_{program}.hpp", is_clang)

    orders = [list(reversed(names))] if alone else [names]
    if alone and not (is_clang and shutil.which("g++")):
        orders.append(names)
    with tempfile.NamedTemporaryFile(suffix=".o") as file:
        if compiler.run(text_of(orders[0]), "-c", "-o", file.name):
            symbols = subprocess.run(["nm", "-C", "--defined-only", file.name], text=True,
                                     capture_output=True, check=True).stdout
            failures += [f"not inline: {line}" for line in symbols.splitlines()
                         if re.search(" [TDBRC] ", line)]
        else:
            failures.append(f"all headers together, {orders[0][0]} first")
    failures += [f"all headers together, {order[0]} first" for order in orders[1:]
                 if not compiler.run(text_of(order), "-fsyntax-only")]

    for failure in failures:
        print(f"FAILED: {failure}")
    print(f"{program}: {len(names)} headers{', each alone' if alone else ''}, {len(failures)} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    if len(sys.argv) != 4:
        print(__doc__, file=sys.stderr)
        sys.exit(2)
    sys.exit(main(*sys.argv[1:]))
