#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""gpu_script.py: scripts/test_gpu.sh where programs that are not there print what they would on a
GPU, and the table that it makes."""

import json
import os
import pathlib
import subprocess
import tempfile

# The launcher, cmake, ctest and gpu_bench; TROUBLE says what goes wrong.
STUBS = {
    "bin/cmake": "exit 0",
    "bin/ctest": "echo 100% tests passed",
    "bin/nvidia-smi": "echo 'A GPU, 1.0'",
    "bin/compute-sanitizer": "exit 0",
    "bin/mpiexec": r"""
if [ "$1" = --version ]; then echo 'mpirun (Open MPI) 4.1.4'; exit; fi
while [ "$1" != -n ]; do shift; done
export RANKS=$2; shift 2; exec "$@" """,
    "build/tests/gpu/gpu_reductions": "exit 0",
    "build/benchmarks/gpu_bench": r"""
p="\"ranks\": $RANKS, \"bytes\": 268435456, \"seconds\": 1.0"
case $1 in
memory)
  [ "$TROUBLE" = no_gpu ] && { echo 'SKIPPED: no GPU can be used'; exit 77; }
  echo '{"what": "memory", "free": 1000, "gpus": 1}' ;;
results) echo "{\"what\": \"results\", \"ranks\": $RANKS, \"pairs\": 94, \"wrong\": 0}" ;;
allreduces)
  echo '{"what": "copy", "traffic": 4e12}'
  bound=0.9; [ "$TROUBLE" = slow ] && bound=0.2
  echo "{\"what\": \"allreduce\", $p, \"policy\": \"SharedDevice\", \"buffers\": \"shared\", \"bound\": $bound}"
  [ "$TROUBLE" = hangs ] && exit 124
  true ;;
against_mpi)
  echo "{\"what\": \"against_mpi\", $p, \"policy\": \"default\", \"mpi_seconds\": 3.0}"
  echo "{\"what\": \"against_mpi\", $p, \"policy\": \"SharedDevice\", \"mpi_seconds\": 16.0}" ;;
through_host) echo "{\"what\": \"through_host\", $p, \"bound\": 0.85, \"was_refused\": true}" ;;
paths) echo '{"what": "paths", "bytes": 268435456, "slowed_by": 20, "direct": 7e10, "host": 5e10, "both": 1.164e11, "part": 0.97}' ;;
cycles) echo "{\"what\": \"cycles\", \"ranks\": $RANKS, \"cycles\": $2, \"free_before\": 9, \"free_after\": 9}" ;;
lost)
  for phase in 0 1 2 3 4 5 6; do
    for rank in $(seq $((7 - phase))); do
      echo "{\"what\": \"lost\", \"job\": $3, \"ranks\": 8, \"phase\": $phase, \"rank\": $rank, \"outcome\": \"peer_lost\", \"seconds\": 0.01}"
    done
  done >"$2/$3.0.jsonl" ;;
esac""",
}
failures = 0


def expect(holds, what, result):
    global failures
    if not holds:
        failures += 1
        print(f"FAILED: {what}\nexit {result.returncode}\n{result.stdout}\n{result.stderr}")


def run(scratch, trouble=""):
    build = scratch / "build"
    for name, text in STUBS.items():
        file = scratch / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("#!/bin/bash\n" + text + "\n", encoding="utf-8")
        file.chmod(0o755)
    (build / "CMakeCache.txt").write_text(
        f"MPIEXEC_EXECUTABLE:FILEPATH={scratch}/bin/mpiexec\n", encoding="utf-8")
    environment = dict(os.environ, TROUBLE=trouble, PATH=f"{scratch}/bin:{os.environ['PATH']}")
    return subprocess.run(["scripts/test_gpu.sh", "--output", str(scratch / "out"), str(build)],
                          capture_output=True, text=True, check=False, env=environment)


def main():
    with tempfile.TemporaryDirectory() as name:
        scratch = pathlib.Path(name)
        result = run(scratch, "no_gpu")
        expect(result.returncode == 77, "exit 77 without a GPU", result)
        expect("SKIPPED: all is built, and nothing was run: no GPU" in result.stdout,
               "a sentence that there is none", result)
        expect(not (scratch / "out").exists(), "no table without a GPU", result)

        result = run(scratch)
        expect(result.returncode == 0, "exit 0 where all is reached", result)
        text = (scratch / "out/table.md").read_text(encoding="utf-8")
        expect(text in result.stdout, "the table is printed", result)
        for part in ("A GPU, 1.0, mpirun (Open MPI) 4.1.4", "90% | reached", "105 deaths",
                     "420 of 420", "97.0% | reached", "least 3.00 times as quick (256 MB)",
                     "16.0 times at least (256 MB) | reached", "copy over two paths, 256 MB", "is done 20 times",
                     "| 70.0 | 50.0 | 116.4 | 97.0% |",
                     "traffic 4000.0 GB/s"):
            expect(part in text, f"the table has '{part}'", result)
        expect("MISSED" not in text and "SKIPPED" not in text, "all is reached", result)
        rows = json.loads((scratch / "out/results.json").read_text(encoding="utf-8"))
        expect(all(one["verdict"] == "reached" for one in rows["lines"]), "the same in JSON", result)

        result = run(scratch, "slow")  # and again in the same build
        expect(result.returncode == 1 and "20% | MISSED" in result.stdout, "what is missed", result)
        result = run(scratch, "hangs")
        expect(result.returncode == 1 and "did not end in 90 s | MISSED" in result.stdout,
               "what did not end", result)
    return 1 if failures else 0


if __name__ == "__main__":
    raise SystemExit(main())
