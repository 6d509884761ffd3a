#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""papcoll-bench in simulated time: what a message, a byte and a combined byte take is known."""

import json
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "benchmarks" / "reproduce"))
import simulate  # noqa: E402

ALPHA = 1.5e-6
BETA = 1 / 16e9
GAMMA = 2e-10
BYTES = 1 << 20


def times(ranks, collective, *arguments, **options):
    """Microseconds from the last arrival to the last exit, by algorithm."""
    program = [sys.argv[1], collective, "--bytes", str(BYTES), "--json", *arguments]
    done = simulate.run(program, ranks, timeout=100, stdout=subprocess.PIPE, **options)
    assert done.returncode == 0, done.stdout
    return {row["algorithm"]: row["tail_median_us"]
            for row in map(json.loads, done.stdout.splitlines())}


def expect(what, seconds, wanted):
    assert abs(seconds * 1e-6 / wanted - 1) < 0.01, f"{what}: {seconds} us, not {wanted * 1e6}"


def test_started_by_hand():
    done = subprocess.run([sys.argv[1], "bcast"], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and not done.stdout, done
    assert "start it by benchmarks/reproduce/simulate.py --ranks 8" in done.stderr, done


def main():
    test_started_by_hand()
    message = ALPHA + BETA * BYTES
    both = ["--algorithm", "mpi", "Binomial"]
    for name, time in times(2, "bcast", *both).items():
        expect(f"a message, {name}", time, message)
    binomial = ["smpi/reduce:binomial"]
    for name, time in times(2, "reduce", *both, gamma=GAMMA, settings=binomial).items():
        expect(f"a combined message, {name}", time, message + GAMMA * BYTES)
    more = ["--algorithm", "mpi", "Chain", "Binomial"]
    checked = times(8, "bcast", *more, "--check")
    expect("seven messages", checked["Chain"], 7 * message)
    again = times(8, "bcast", *more)
    for name, time in again.items():  # but for rounding: simulated clocks have come further
        expect(f"the same again, {name}", time, checked[name] * 1e-6)

    # Each of the four combines and passes on all segments; half of the ranks arrive late.
    one = times(4, "reduce", "--algorithm", "PipelinedChain:65536", "--arrival", "one-late",
                "--spread", "2ms", gamma=GAMMA)
    segments = BYTES / 65536
    segment = ALPHA + BETA * 65536 + GAMMA * 65536
    assert segment < one["PipelinedChain:65536"] * 1e-6 < (segments + 3) * segment, one

    # Groups of simulated ranks are nodes to Hierarchical; they pass messages.
    hierarchical = "Hierarchical:Rabenseifner+MpiTransport,Rabenseifner+MpiTransport"
    by_groups = times(8, "allreduce", "--algorithm", hierarchical, "Rabenseifner", "--group-size",
                      "4", "--check", platform="nodes-of-4", gamma=GAMMA)
    assert by_groups[hierarchical] > 0, by_groups


if __name__ == "__main__":
    main()
