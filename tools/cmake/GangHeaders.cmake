# The public headers of gang/: what <gangsim/gang.h> includes and what is installed. A header that
# one of these includes, or one that sim/ or harness/ offer, must be listed too; the other headers
# of gang/ are for this project only.
set(GANGSIM_GANG_HEADERS
  gang/agreement.h gang/call_site.h gang/call_text.h gang/collective.h gang/current_gangs.h
  gang/data_type.h gang/device.h gang/duration.h gang/enum_names.h gang/environment.h gang/error.h
  gang/error_file.h gang/fake_gang.h gang/forwarding_gang.h gang/gang.h gang/gang_label.h
  gang/gang_layout.h gang/gangs.h gang/half.h gang/mesh.h
  gang/object.h gang/operation.h gang/operation_kind.h gang/reduce_operation.h
  gang/replica_verifying_gang.h gang/root_gang.h gang/runtime.h gang/shape.h gang/tensor_view.h
  gang/validating_gang.h gang/work.h
  gang/store/faulty_store.h gang/store/file_store.h gang/store/memory_store.h
  gang/store/prefix_store.h gang/store/rendezvous.h gang/store/store.h gang/store/tcp_store.h
  gang/store/tcp_store_protocol.h gang/store/tcp_store_server.h)
