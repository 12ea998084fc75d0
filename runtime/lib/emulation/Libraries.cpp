//===- Libraries.cpp - Who finds the fake's functions ---------------------===//
//
// An executable with this file opens no library of NVIDIA's.
//
//===----------------------------------------------------------------------===//

#include "emulation/cudnn/FakeCudnn.h"
#include "emulation/driver/FakeCuda.h"
#include "emulation/nccl/FakeNccl.h"

#include <cstring>

using namespace honert;
using namespace honert::fake;

static void *find(const char *symbol) {
#define CUDA_FUNCTION(name, parameters)                                        \
  if (std::strcmp(symbol, #name) == 0)                                         \
    return reinterpret_cast<void *>(&fake::name);
#include "exec/cuda/core/Driver.def"
#undef CUDA_FUNCTION
#define CUBLAS_FUNCTION(result, name, parameters)                              \
  if (std::strcmp(symbol, #name) == 0)                                         \
    return reinterpret_cast<void *>(&fake::name);
#include "exec/cuda/products/Cublas.def"
#undef CUBLAS_FUNCTION
  if (void *found = fake::findNccl(symbol))
    return found;
  return fake::findCudnn(symbol);
}

void *honert_emulated_library(const char *library, const char *symbol) {
  const std::set<std::string> &missing = state().settings.missing;
  if (missing.count(library) || missing.count(symbol))
    return nullptr;
  return *symbol ? find(symbol) : &state();
}
