//===- GpuProperties.h - GPUs as cuDNN plans for them ---------------------===//

#ifndef HONERT_EXEC_CUDA_ATTENTION_GPUPROPERTIES_H
#define HONERT_EXEC_CUDA_ATTENTION_GPUPROPERTIES_H

#include <string>

namespace honert {

/// What cuDNN reads off a GPU, as the JSON that it takes instead of one; empty
/// for an architecture that is not in the table (`arch` 90: sm_90).
std::string deviceProperties(int arch);

/// " sm_80 sm_90 ...": those of the table.
std::string knownArchitectures();

} // namespace honert

#endif // HONERT_EXEC_CUDA_ATTENTION_GPUPROPERTIES_H
