#!/usr/bin/env bash
#SBATCH --job-name=gangsim
#SBATCH --array=0-7
#
# Shards of one run as a Slurm array, a shard for each task:
#
#   sbatch --wait --array=0-63 slurm.sh explore my_program.toml --schedules 1000000
#   gangsim merge shards/
#
# The shards' JSON goes to the folder SHARDS [shards]. A finding does not fail its task: `merge`
# says the verdict. GANGSIM is the command, if it is not in PATH.

shards=${SHARDS:-shards}
mkdir -p "$shards"
"${GANGSIM:-gangsim}" "$@" --json "$shards/$SLURM_ARRAY_TASK_ID.json"
status=$?
exit $((status == 1 ? 0 : status))
