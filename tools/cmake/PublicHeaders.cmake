# The public headers of gang/ and sim/: what is installed, and what <gangsim/gang.h> and
# <gangsim/sim.h> may include. A header that one of these includes, or one that harness/ offers,
# must be listed too; the others are for this project only. None shows a library to those who
# include it, except those that tools/tidy_rules.py lists.
set(GANGSIM_GANG_HEADERS
  gang/agreement.h gang/call_site.h gang/call_text.h gang/collective.h gang/current_gangs.h
  gang/data_type.h gang/device.h gang/duration.h gang/enum_names.h gang/environment.h gang/error.h
  gang/error_file.h gang/fake_gang.h gang/forwarding_gang.h gang/gang.h gang/gang_label.h
  gang/gang_layout.h gang/gangs.h gang/half.h gang/hash.h gang/mesh.h gang/object.h
  gang/operation.h gang/operation_kind.h gang/parent_gang.h gang/reduce_operation.h
  gang/replica_verifying_gang.h gang/root_gang.h gang/runtime.h gang/shape.h gang/tensor_view.h
  gang/validating_gang.h gang/work.h
  gang/store/faulty_store.h gang/store/file_store.h gang/store/memory_store.h
  gang/store/prefix_store.h gang/store/rendezvous.h gang/store/store.h gang/store/tcp_store.h
  gang/store/tcp_store_protocol.h gang/store/tcp_store_server.h)

set(GANGSIM_SIM_HEADERS
  sim/faults/fault_plan.h sim/faults/fault_plan_json.h sim/further_runs/every_schedule.h
  sim/further_runs/nondeterminism.h sim/further_runs/settled_run.h sim/options/nccl_model.h
  sim/options/simulation_options.h sim/report/call_group.h sim/report/call_history.h
  sim/report/call_json.h sim/report/certainty.h sim/report/left_behind.h sim/report/report.h
  sim/report/report_json.h sim/report/timeline.h sim/report/trace.h
  sim/schedule/context_bits.h sim/schedule/contested_objects.h sim/schedule/continuations.h
  sim/schedule/detours.h sim/schedule/guide.h
  sim/schedule/happens_before.h sim/schedule/key_table.h sim/schedule/known_contests.h
  sim/schedule/random_stream.h sim/schedule/reduction.h
  sim/schedule/reversals.h sim/schedule/runnable_set.h sim/schedule/sampler.h
  sim/schedule/schedule.h sim/schedule/schedule_tree.h sim/schedule/scheduler.h
  sim/schedule/step_log.h sim/schedule/step_writer.h sim/simulation.h sim/state/awaited_message.h
  sim/text/marked_text.h sim/text/rank_ranges.h)
