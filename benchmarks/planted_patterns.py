#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What `papcoll what-if` chooses for planted arrival patterns, beside what is measured to be best.

    benchmarks/planted_patterns.py --build build/release [--rounds 5] [--output results.json]

Two ranks, allreduce, three patterns: one rank is always late; arrivals are random within a maximum
imbalance factor; the late rank changes suddenly. For each and each size, what-if simulates (its
choice is made before anything is measured of it) and replays, and papcoll-bench measures all
candidates several times, in turns. It prints what each choice costs: the measured tail, and time in
the call, of what was chosen, over those of the best. Exits with 1 if a choice costs more than
--most times the best.
"""

import argparse
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile

SIZES = [64, 4096, 1 << 20]
CALLS = 96


def run(words):
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, words))}: {done.stderr.strip()}")
    return done.stdout


def patterns(size):
    """Lines of a trace by name. A unit is about the time of a message of that size."""
    unit = 0.3e-6 + size / 10e9
    draw = random.Random(size)
    return {
        "one late": [[0, 10 * unit] for _ in range(CALLS)],
        "random": [[draw.uniform(0, 20 * unit) for _ in range(2)] for _ in range(CALLS)],
        "change": [[0, 8 * unit] if call < CALLS // 2 else [12 * unit, 0] for call in range(CALLS)],
    }


def what_if(tool, words):
    return json.loads(run([tool, "what-if", "--collective", "allreduce", "--json", *words]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build/release", type=pathlib.Path)
    parser.add_argument("--rounds", default=5, type=int)
    parser.add_argument("--bytes", default=",".join(map(str, SIZES)), help="bytes, by commas")
    parser.add_argument("--most", default=1.2, type=float)
    parser.add_argument("--launcher", default="mpirun --bind-to core")
    parser.add_argument("--output", type=pathlib.Path)
    arguments = parser.parse_args()
    tool = arguments.build / "tools" / "papcoll"
    rows = []
    with tempfile.TemporaryDirectory() as directory:
        trace = pathlib.Path(directory) / "trace"
        for size in map(int, arguments.bytes.split(",")):
            for name, lines in patterns(size).items():
                trace.write_text("".join(" ".join(map(repr, line)) + "\n" for line in lines))
                words = ["--arrival", f"trace:{trace}", "--bytes", str(size)]
                replay = [*words, "--replay", "--launcher", arguments.launcher]
                chosen = {"simulated": what_if(tool, [*words, "--simulate"])["best"],
                          "replayed": what_if(tool, replay)["best"]}
                # Each round is a replay of its own, in which the candidates take turns.
                rounds = [what_if(tool, replay)["outcomes"] for _ in range(arguments.rounds)]
                measured = {}
                for outcomes in rounds:
                    for o in outcomes:
                        measured.setdefault(o["algorithm"], []).append((o["tail"], o["in_call"]))
                tails = {a: statistics.median(t for t, _ in m) for a, m in measured.items()}
                in_call = {a: statistics.median(t for _, t in m) for a, m in measured.items()}
                for how, choice in chosen.items():
                    rows.append({"bytes": size, "pattern": name, "how": how, "choice": choice,
                                 "tail": tails[choice], "in_call": in_call[choice],
                                 "best": min(in_call, key=in_call.get),
                                 "costs": in_call[choice] / min(in_call.values()),
                                 "best_tail": min(tails, key=tails.get),
                                 "costs_tail": tails[choice] / min(tails.values()),
                                 "load": os.getloadavg()[0]})
    if arguments.output:
        arguments.output.write_text(json.dumps(rows, indent=1) + "\n")
    print(f"{'bytes':>8} {'pattern':<9} {'how':<10} {'choice':<20} {'tail':>10} {'best':<20} "
          f"{'in call':>8} {'best tail':<20} {'tail':>6}")
    for r in rows:
        print(f"{r['bytes']:>8} {r['pattern']:<9} {r['how']:<10} {r['choice']:<20} "
              f"{r['tail'] * 1e6:>7.2f} µs {r['best']:<20} {r['costs']:>7.2f}× "
              f"{r['best_tail']:<20} {r['costs_tail']:>5.2f}×")
    worst = max(r["costs"] for r in rows)
    loads = [r["load"] for r in rows]
    print(f"worst: {worst:.2f}× in the call, {max(r['costs_tail'] for r in rows):.2f}× of the tail; "
          f"load {min(loads):.1f} to {max(loads):.1f}")
    return 1 if worst > arguments.most else 0


if __name__ == "__main__":
    sys.exit(main())
