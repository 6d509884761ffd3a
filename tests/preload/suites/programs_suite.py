#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""programs_suite.py --mpi openmpi|mpich [--run WORDS] [CASE …]: the programs of tests/preload,
plain and preloaded, and whether they say the same."""

import pathlib
import re
import shutil
import subprocess
import sys

import common


def small(status):
    """The exit status as far as launchers agree on it."""
    return "ended" if status == 0 else "failed"


def case_torture(suite, options):
    """Random types, operators and counts."""
    program = suite.compiled("torture.cpp")
    calls = options.calls or (100000 if options.full else 1500)
    for seed in range(options.seed, options.seed + options.seeds):
        words = [program, f"seed={seed}", f"calls={calls}"]
        runs = {"plain": suite.run(4, words, False), "preloaded": suite.run(4, words, True),
                "again, with delays": suite.run(4, words, True, delays=seed)}
        found = {k: dict(re.findall(r"^(\w[\w ]*?) (\S+)$", out, re.M))
                 for k, (_, out, _) in runs.items()}
        # Open MPI 4.1 itself moves some arrays wrong, such as 900 KB of resized(vector(double)).
        plain_is_wrong = found["plain"].get("wrong", "0") != "0"
        if plain_is_wrong:
            print(f"left out: torture, seed {seed}: plain MPI's moved data, since plain MPI gets "
                  f"{found['plain']['wrong']} calls wrong by the program's own checks")
        for name, (status, _, err) in runs.items():
            if name == "plain" and plain_is_wrong:
                continue
            suite.compare(f"torture, seed {seed}, {calls} calls, {name}: its own checks",
                          status == 0 and found[name].get("wrong") == "0",
                          err[-400:] if status else "")
        for hash_ in ("moved", "integers", "exact"):
            compared = [str(f.get(hash_)) for name, f in found.items()
                        if not (hash_ == "moved" and name == "plain" and plain_is_wrong)]
            suite.compare(f"torture, seed {seed}: {hash_}", len(set(compared)) == 1)
        # Sums that depend on their order, which is plain MPI's own.
        suite.compare(f"torture, seed {seed}: rounded, of the preloaded runs",
                      found["preloaded"].get("rounded") ==
                      found["again, with delays"].get("rounded"))
        gaps = found["preloaded"].get("gaps of pairs written")
        suite.compare(f"torture, seed {seed}: gaps of pairs written", gaps == "0",
                      f"({gaps})" if gaps != "0" else "")
    # What some MPI does not survive, where papcoll takes all calls over.
    if suite.preload and options.harsh:
        words = [program, f"seed={options.seed}", f"calls={calls}", "harsh=1"]
        status, _, err = suite.run(4, words, True, more={"PAPCOLL_RUN_TAKE_OVER_AFTER": "1"})
        suite.compare("torture, harsh: its own checks", status == 0, err[-400:] if status else "")


def lines(out):
    return sorted(line for line in out.splitlines() if ": rank " in line)


def errors_of(suite, how, preloaded, names):
    """name → lines of all ranks; None where the process did not survive."""
    program = suite.compiled("errors.c")
    found = {}
    for name in names:
        status, out, _ = suite.run(2, [program, how, name], preloaded)
        found[name] = (small(status), tuple(lines(out)))
    return found


def all_errors(suite, how, preloaded, names):
    """The same, with as few processes as that takes."""
    program = suite.compiled("errors.c")
    found = {}
    pending = list(names)
    while pending:
        status, out, _ = suite.run(2, [program, how, *pending], preloaded)
        said = lines(out)
        for i, name in enumerate(pending):
            own = tuple(x for x in said if x.startswith(name + ":"))
            if len(own) < 2 and status != 0:  # this one ended it
                found[name] = ("failed", own)
                pending = pending[i + 1:]
                break
            found[name] = ("ended", own)
        else:
            break
    return found


def classes_of(said):
    """What each rank says, without the error classes; and these."""
    parts = [re.fullmatch(r"(.*: class )(\d+)(, handled \d+ of class )(\d+)", line)
             for line in said]
    return ([p[1] for p in parts if p], [(int(p[2]), int(p[4])) for p in parts if p])


def same_errors(plain, preloaded):
    """Are they the same, but that papcoll tells ranks of what is wrong on another one, too?"""
    if plain == preloaded:
        return True
    (names, wanted), (other_names, got) = classes_of(plain[1]), classes_of(preloaded[1])
    refused = {w[0] for w in wanted} - {0}
    return (plain[0] == preloaded[0] and names == other_names and len(wanted) == len(got) and
            all(w == g or (w[0] == 0 and g[0] in refused) for w, g in zip(wanted, got)))


def case_errors_of_calls(suite, options):
    """Refused arguments: the same class, from returning, user's and fatal handlers."""
    program = suite.compiled("errors.c")
    suite.options.timeout = min(suite.options.timeout, 4)
    _, out, _ = suite.run(1, [program, "list"], False)
    names = [line for line in out.splitlines() if ": " in line]
    for how in ("return", "user"):
        plain = all_errors(suite, how, False, names)
        preloaded = all_errors(suite, how, True, names)
        for name in names:
            if plain[name][0] == "failed" or not plain[name][1]:
                print(f"left out: errors, {how}: {name}: plain MPI does not survive it")
                continue
            same = same_errors(plain[name], preloaded[name])
            suite.compare(f"errors, {how}: {name}", same,
                          "" if same else f"{plain[name]} and {preloaded[name]}")
    fatal = names if options.full else names[::12]
    plain = errors_of(suite, "fatal", False, fatal)
    preloaded = errors_of(suite, "fatal", True, fatal)
    for name in fatal:
        # Whether the job ends; where plain MPI goes on, what it then says.
        suite.compare(f"errors, fatal: {name}: plain MPI {plain[name][0]}",
                      plain[name][0] == preloaded[name][0])
    results = [suite.run(3, [program, "finalize"], p)[:2] for p in (False, True)]
    suite.compare("collectives in a callback of MPI_Finalize",
                  results[0] == results[1] and "right" in results[0][1])


def case_many_communicators(suite, options):
    """Many communicators: results, and nothing left."""
    program = suite.compiled("many_communicators.c")
    n = options.communicators
    limit = ["sh", "-c", 'ulimit -n 256; exec "$@"', "sh"] if suite.preload else ()
    for name, preloaded, before in (("plain", False, ()), ("preloaded", True, ()),
                                    ("preloaded, from the first call on, with 256 descriptors",
                                     True, limit)):
        more = {"PAPCOLL_RUN_TAKE_OVER_AFTER": "1"} if before else {}
        status, out, err = suite.run(4, [program, str(n)], preloaded, before=before, more=more)
        suite.compare(f"{n} communicators, {name}: right", status == 0,
                      err[-300:] if status else "")
        left = [int(x) for x in re.findall(r"more descriptors: .*?, (-?\d+) freed", out)]
        suite.compare(f"{n} communicators, {name}: descriptors left",
                      len(left) == 4 and max(left) <= 0, str(left) if left and max(left) > 0 else "")
        for line in sorted(out.splitlines()):
            print("   ", line)


def case_churn(suite, options):
    """Communicators made, used once and freed: how long, and nothing left."""
    program = suite.compiled("churn.c")
    n = options.rounds or (10000 if options.full else 2000)
    times = {}
    for name, preloaded, after in (("plain", False, None), ("preloaded", True, None),
                                   ("preloaded, from the first call on", True, "1")):
        rounds = n if after is None else max(n // 10, 20)
        status, out, err = suite.run(4, [program, str(rounds)], preloaded,
                                     more={"PAPCOLL_RUN_TAKE_OVER_AFTER": after} if after else None)
        found = re.search(r"time ([\d.]+) us", out)
        times[name] = float(found[1]) if found else float("nan")
        suite.compare(f"churn, {rounds} times, {name}: right, {times[name]:.1f} us each",
                      status == 0, err[-300:] if status else "")
        left = [int(x) for x in re.findall(r"more descriptors (-?\d+)", out)]
        suite.compare(f"churn, {name}: descriptors left", len(left) == 4 and max(left) <= 0)
    ratio = times["preloaded"] / times["plain"]
    print(f"    preloaded takes {ratio:.2f} times plain MPI's time")
    if options.full:
        suite.compare("churn: within twice plain MPI's time", ratio <= 2)


def case_threads(suite, options):
    """MPI_THREAD_MULTIPLE."""
    program = suite.compiled("threads.c", "-pthread")
    calls = options.calls or (400 if suite.mpi == "openmpi" else 60)
    for name, preloaded in (("plain", False), ("preloaded", True)):
        status, out, err = suite.run(2, [program, str(calls)], preloaded)
        if status == common.SKIPPED:
            print("left out: threads: no MPI_THREAD_MULTIPLE")
            return
        suite.compare(f"four threads of eight communicators, {name}: right", status == 0,
                      err[-300:] if status else "")
        left = [int(x) for x in re.findall(r"more descriptors (-?\d+)", out)]
        suite.compare(f"threads, {name}: descriptors left", len(left) == 2 and max(left) <= 0)


def case_programs_in_fortran(suite, options):
    """mpif.h and mpi_f08."""
    del options
    for source in ("calls_mpif.f90", "calls_f08.f90"):
        try:
            program = suite.compiled(source)
        except common.Skip as e:
            print(f"left out: {source}: {e}")
            return
        for ranks in (2, 3):
            results = [suite.run(ranks, [program], p)[:2] for p in (False, True)]
            suite.compare(f"{source} on {ranks} ranks",
                          results[0] == results[1] and results[0][0] == 0,
                          "" if results[0] == results[1] else
                          common.first_difference(results[0][1], results[1][1]))


def functions_of(library):
    out = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True,
                         check=True).stdout
    return {line.split()[-1] for line in out.splitlines()}


def case_large_counts(suite, options):
    """Programs that look whether MPI has functions for large counts find no more than it has."""
    del options
    if not suite.preload or shutil.which("nm") is None:
        print("left out: no papcoll-run, or no nm")
        return
    program = suite.compiled("churn.c")
    linked = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    mpi = functions_of(re.search(r"libmpi\w*\.so\S* => (\S+)", linked)[1])
    launcher = pathlib.Path(shutil.which(suite.preload[0]))
    for tool in ("preload", "profile"):
        library = launcher.parent.parent / tool / f"libpapcoll_{tool}_{suite.mpi}.so"
        if not library.exists():
            library = next(launcher.parent.parent.glob(f"**/libpapcoll_{tool}_{suite.mpi}.so"),
                           None)
        found = {f for f in functions_of(library) if f.startswith("MPI_") and f.endswith("_c")}
        suite.compare(f"large counts: functions of papcoll-{tool} that MPI lacks", found <= mpi,
                      " ".join(sorted(found - mpi)[:5]))


CASES = {name.removeprefix("case_"): f for name, f in list(globals().items())
         if name.startswith("case_")}


def main():
    parser = common.parser(__doc__)
    parser.add_argument("--seed", type=int, default=1, help="of torture, the first")
    parser.add_argument("--seeds", type=int, default=1, help="how many")
    parser.add_argument("--calls", type=int, help="of torture and threads")
    parser.add_argument("--harsh", action="store_true",
                        help="torture with what plain MPI does not survive, too; preloaded only")
    parser.add_argument("--communicators", type=int, default=1000, help="alive at a time")
    parser.add_argument("--rounds", type=int, help="of churn")
    parser.add_argument("--full", action="store_true",
                        help="100000 calls of torture, all fatal errors, and 10000 rounds of churn, "
                             "within twice plain MPI's time")
    parser.add_argument("cases", nargs="*", metavar="CASE", help=", ".join(CASES))
    options = parser.parse_args()
    if unknown := set(options.cases) - set(CASES):
        parser.error(f"there are {', '.join(CASES)}; not {', '.join(unknown)}")

    def body(suite):
        for name in options.cases or CASES:
            CASES[name](suite, options)

    return common.main(options, body)


if __name__ == "__main__":
    sys.exit(main())
