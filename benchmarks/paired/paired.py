#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Which of two checkouts of papcoll takes longer, and by how much: both are loaded into the same
ranks and called in turns, a fraction of a millisecond each, so that whatever else changes on the
machine changes for both. A difference of 1 % shows where runs of whole programs differ by 20.

Where memory happens to lie makes up to 4 % of the smallest calls. It is drawn anew at each start:
the program is started several times, each build first in turn, and the median over the starts is
printed, with the least and the greatest.

    benchmarks/paired/paired.py ../papcoll-before
    benchmarks/paired/paired.py ../papcoll-before . --ranks 4 --calls allreduce barrier --bytes 8 65536

The two may be one, compiled in two ways: with --new-flags=-O0, or with the code that is compiled once:

    benchmarks/paired/paired.py . --new-flags="-DPAPCOLL_COMPILED include/papcoll/call/papcoll.cpp"
"""

import argparse
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
CALLS = ["allreduce", "allreduce DynamicLeader", "allreduce RecursiveDoubling+ShmTransport",
         "allreduce RecursiveDoubling+MpiTransport", "allreduce Ring+ShmTransport", "iallreduce",
         "reduce, barrier", "bcast, barrier", "allgather", "reduce_scatter", "barrier", "registration"]


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=pathlib.Path, help="a checkout")
    parser.add_argument("new", type=pathlib.Path, nargs="?", default=HERE.parent.parent,
                        help="another (default: this one)")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--calls", nargs="+", default=CALLS, metavar="CALL",
                        help="of: " + "; ".join(CALLS))
    parser.add_argument("--bytes", nargs="+", type=int, metavar="BYTES",
                        default=[8 << i for i in range(10)])
    parser.add_argument("--starts", type=int, default=10)
    parser.add_argument("--blocks", type=int, default=100, help="a start, build and size")
    parser.add_argument("--block-ms", type=float, default=0.08, help="how long one takes")
    parser.add_argument("--compiler", default="mpicxx")
    parser.add_argument("--new-flags", default="", metavar="FLAGS", help="more of them, for new")
    parser.add_argument("--launcher", default="mpirun", help="a launcher and its options")
    return parser.parse_args()


def build(arguments, directory):
    flags = ["-std=c++20", "-O2", "-pthread"]
    library = ["-fPIC", "-shared", "-fvisibility=hidden", "-fno-gnu-unique", "-Wl,-Bsymbolic"]
    for name, checkout, more in (("old", arguments.old, []),
                                 ("new", arguments.new, arguments.new_flags.split())):
        print(f"building {' '.join([str(checkout), *more])}", file=sys.stderr)
        subprocess.run([arguments.compiler, *flags, *library, f"-I{checkout}/include", *more,
                        str(HERE / "calls.cpp"), "-o", str(directory / f"{name}.so"), "-lrt"],
                       check=True)
    subprocess.run([arguments.compiler, *flags, str(HERE / "main.cpp"), "-o",
                    str(directory / "main"), "-ldl"], check=True)


def measure(arguments, directory, call):
    """For each size the medians in µs and the ratios new/old, a start each."""
    found = {}
    sizes = arguments.bytes if call != "barrier" else arguments.bytes[:1]
    for start in range(arguments.starts):
        swapped = start % 2 == 1
        libraries = [str(directory / name) for name in ("old.so", "new.so")]
        if swapped:
            libraries.reverse()
        result = subprocess.run(
            [*arguments.launcher.split(), "-n", str(arguments.ranks), str(directory / "main"),
             *libraries, str(arguments.blocks), str(arguments.block_ms), call, *map(str, sizes)],
            stdout=subprocess.PIPE, text=True)
        if result.returncode != 0:
            sys.exit(f"paired.py: {' '.join(result.args)} failed: see --launcher and --calls")
        for line in result.stdout.splitlines():
            size, first, second, ratio = (float(word) for word in line.split())
            old, new = (second, first) if swapped else (first, second)
            found.setdefault(int(size), []).append((old, new, 1 / ratio if swapped else ratio))
    return found


def main():
    arguments = parse_arguments()
    if shutil.which(arguments.compiler) is None:
        sys.exit(f"paired.py: no compiler {arguments.compiler}")
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        build(arguments, directory)
        print(f"{'call':42} {'bytes':>9} {'old µs':>10} {'new µs':>10}  new/old, of "
              f"{arguments.starts} starts")
        for call in arguments.calls:
            for size, starts in measure(arguments, directory, call).items():
                old, new, ratio = (statistics.median(column) for column in zip(*starts))
                ratios = [s[2] for s in starts]
                print(f"{call:42} {size:9} {old:10.3f} {new:10.3f}  {ratio:.3f} "
                      f"[{min(ratios):.3f} {max(ratios):.3f}]", flush=True)


if __name__ == "__main__":
    main()
