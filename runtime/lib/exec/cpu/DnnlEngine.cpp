//===- DnnlEngine.cpp - The engine of oneDNN, and a stream per thread -----===//

#include "exec/cpu/DnnlEngine.h"

using namespace honert;

Status honert::checkDnnl(dnnl_status_t status, const char *what,
                         const std::string &name) {
  if (status == dnnl_success)
    return Status();
  return Status::error(format("%s: oneDNN could not %s (status %d)",
                              name.c_str(), what, status));
}

dnnl_data_type_t honert::dnnlType(DType dtype) {
  return dtype == DType::bf16 ? dnnl_bf16 : dnnl_f32;
}

DnnlEngine::~DnnlEngine() {
  for (dnnl_stream_t stream : streams)
    dnnl.dnnl_stream_destroy(stream);
  if (engine)
    dnnl.dnnl_engine_destroy(engine);
}

Status DnnlEngine::start() {
  if (engine)
    return Status();
  HONERT_TRY(dnnl.open());
  HONERT_TRY(checkDnnl(dnnl.dnnl_engine_create(&engine, dnnl_cpu, 0),
                       "start its engine", "start"));
  for (int i = 0; i < pool.size(); ++i) {
    dnnl_stream_t stream;
    HONERT_TRY(checkDnnl(
        dnnl.dnnl_stream_create(&stream, engine, dnnl_stream_default_flags),
        "start a stream", "start"));
    streams.push_back(stream);
  }
  return Status();
}

bool DnnlEngine::hasBFloatUnits() const {
  int isa = dnnl.dnnl_get_effective_cpu_isa();
  return (isa & dnnl_cpu_isa_avx512_core_bf16) == dnnl_cpu_isa_avx512_core_bf16;
}

dnnl_status_t
DnnlEngine::execute(dnnl_primitive_t primitive, int thread,
                    std::initializer_list<Operand> operands) const {
  constexpr int most = 5;
  dnnl_stream_t stream = streams[static_cast<size_t>(thread)];
  dnnl_exec_arg_t arguments[most];
  int count = 0;
  dnnl_status_t status = dnnl_success;
  for (auto [index, desc, data] : operands) {
    if (!data || status != dnnl_success)
      continue;
    status = dnnl.dnnl_memory_create(&arguments[count].memory, desc, engine,
                                     const_cast<void *>(data));
    arguments[count].arg = index;
    count += status == dnnl_success;
  }
  if (status == dnnl_success)
    status = dnnl.dnnl_primitive_execute(primitive, stream, count, arguments);
  if (status == dnnl_success)
    status = dnnl.dnnl_stream_wait(stream);
  for (int i = 0; i < count; ++i)
    dnnl.dnnl_memory_destroy(arguments[i].memory);
  return status;
}
