// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The C functions of sessions.

#include "runtime/src/Handles.h"

using namespace fusec;
using namespace fusec::rt;

fusec_status fusec_session_create(const fusec_model *model,
                                  fusec_session **session, char *message,
                                  size_t capacity) {
  return guard(message, capacity, [&] {
    requireResult(model, "model");
    requireResult(session, "session");
    *session = new fusec_session{Session(model->model)};
  });
}

void fusec_session_free(fusec_session *session) { delete session; }

fusec_status fusec_session_bind_input(fusec_session *session, uint32_t index,
                                      const fusec_tensor *tensor, char *message,
                                      size_t capacity) {
  return guard(message, capacity, [&] {
    requireResult(session, "session");
    session->session.bind(true, index, tensor);
  });
}

fusec_status fusec_session_bind_output(fusec_session *session, uint32_t index,
                                       const fusec_tensor *tensor,
                                       char *message, size_t capacity) {
  return guard(message, capacity, [&] {
    requireResult(session, "session");
    session->session.bind(false, index, tensor);
  });
}

fusec_status fusec_session_bind(fusec_session *session, const char *name,
                                const fusec_tensor *tensor, char *message,
                                size_t capacity) {
  return guard(message, capacity, [&] {
    requireResult(session, "session");
    session->session.bind(name, tensor);
  });
}

fusec_status fusec_session_prepare(fusec_session *session,
                                   const fusec_prepare_options *given,
                                   char *message, size_t capacity) {
  return guard(message, capacity, [&] {
    requireResult(session, "session");
    fusec_prepare_options options = readStruct(given, "fusec_prepare_options");
    const format::Manifest &manifest = session->session.model().manifest();
    session->session.prepare(
        lookUpDims(manifest, options.dims, options.dim_count),
        uint64_t(reinterpret_cast<uintptr_t>(options.arena)),
        options.arena_size, options.graph);
  });
}

fusec_status fusec_session_output_sizes(const fusec_session *session,
                                        uint32_t index, int64_t *sizes,
                                        int32_t rank, char *message,
                                        size_t capacity) {
  return guard(message, capacity, [&] {
    requireResult(session, "session");
    checkOutput(session->session.model().manifest(), index, sizes, rank);
    const std::vector<int64_t> &values = session->session.outputSizes(index);
    std::copy(values.begin(), values.end(), sizes);
  });
}

fusec_status fusec_session_run(fusec_session *session, void *stream,
                               char *message, size_t capacity) {
  return guard(message, capacity, [&] {
    requireResult(session, "session");
    session->session.run(static_cast<cuda::Stream>(stream));
  });
}

fusec_status fusec_session_set_adapter(fusec_session *session,
                                       const fusec_adapter *adapter,
                                       void *stream, char *message,
                                       size_t capacity) {
  return guard(message, capacity, [&] {
    requireResult(session, "session");
    session->session.setAdapter(adapter ? &adapter->adapter : nullptr,
                                static_cast<cuda::Stream>(stream));
  });
}

fusec_status fusec_session_set_weight(fusec_session *session, const char *name,
                                      const fusec_tensor *tensor, void *stream,
                                      char *message, size_t capacity) {
  return guard(message, capacity, [&] {
    requireResult(session, "session");
    requireResult(name, "name");
    session->session.setWeight(name, tensor, static_cast<cuda::Stream>(stream));
  });
}

uint32_t fusec_session_launch_count(const fusec_session *session) {
  return session->session.launchCount();
}

int32_t fusec_session_replayed(const fusec_session *session) {
  return session->session.replayed() ? 1 : 0;
}

fusec_status fusec_session_faults(fusec_session *session, uint64_t *faults,
                                  char *message, size_t capacity) {
  return guard(message, capacity, [&] {
    requireResult(session, "session");
    requireResult(faults, "faults");
    *faults = session->session.faults();
  });
}
