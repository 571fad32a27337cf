#!/usr/bin/env python3
"""usage: flight_recorder_dumps.py FOLDER [--world N] [--entries N] [--frames N]

Writes the Flight Recorder dumps of a job that hung: pickles as PyTorch 2.6 writes them, one per
rank. Steps of tp, dp and root collectives; the last rank but one skips the last call on root.
"""

import argparse
import os
import pickle
import sys


def entries_of(rank, world, count, frames, groups):
    numbers = {name: 0 for name in groups}
    entries = []
    first = 1000  # the ring has lost what came before
    kinds = [("tp", "nccl:all_reduce", [[4096, 512]], [[4096, 512]]),
             ("dp", "nccl:_reduce_scatter_base", [[8 * 65536]], [[65536]]),
             ("dp", "nccl:_all_gather_base", [[65536]], [[8 * 65536]]),
             ("root", "nccl:all_reduce", [[1]], [[1]])]
    for index in range(first, first + count):
        group, name, inputs, outputs = kinds[index % len(kinds)]
        is_last = index == first + count - 1
        if is_last and rank == world - 2:
            break
        numbers[group] += 1
        uid, description, _ = groups[group]
        entries.append({
            "record_id": index, "pg_id": int(uid), "process_group": (uid, description),
            "collective_seq_id": 250 + numbers[group], "p2p_seq_id": 0, "op_id": index,
            "profiling_name": name, "time_created_ns": 1_700_000_000_000_000_000 + 1000 * index,
            "duration_ms": None, "input_sizes": inputs, "output_sizes": outputs,
            "input_dtypes": ["BFloat16"], "output_dtypes": ["BFloat16"],
            "state": "started" if is_last else "completed",
            "time_discovered_started_ns": None, "time_discovered_completed_ns": None,
            "retired": not is_last, "timeout_ms": 600000, "is_p2p": False, "frames": frames})
    return entries


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("folder")
    parser.add_argument("--world", type=int, default=1024)
    parser.add_argument("--entries", type=int, default=2000)
    parser.add_argument("--frames", type=int, default=8)
    options = parser.parse_args()
    os.makedirs(options.folder, exist_ok=True)
    world = options.world
    own = [{"name": f"function_{i}", "filename": f"/home/me/project/layer_{i}.py", "line": 40 + i}
           for i in range(max(0, options.frames - 1))]
    frames = [{"name": "all_reduce", "line": 2501,
               "filename": "/usr/lib/python3/dist-packages/torch/distributed/distributed_c10d.py"}]
    frames += own
    for rank in range(world):
        tp = rank // 8 * 8
        groups = {"root": ("0", "default_pg", list(range(world))),
                  "tp": (str(1 + rank // 8), "tp", list(range(tp, min(tp + 8, world)))),
                  "dp": (str(1001 + rank % 8), "dp", list(range(rank % 8, world, 8)))}
        dump = {"version": "2.4",
                "pg_config": {uid: {"name": uid, "desc": description, "ranks": str(ranks)}
                              for uid, description, ranks in groups.values()},
                "pg_status": {},
                "entries": entries_of(rank, world, options.entries, frames, groups)}
        with open(os.path.join(options.folder, f"nccl_trace_rank_{rank}"), "wb") as file:
            pickle.dump(dump, file, protocol=2)
    return 0


if __name__ == "__main__":
    sys.exit(main())
