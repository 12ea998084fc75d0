//===- DataSheet.h - What a GPU can do at most ----------------------------===//

#ifndef HONERT_EXEC_CUDA_CORE_DATASHEET_H
#define HONERT_EXEC_CUDA_CORE_DATASHEET_H

#include <string>

namespace honert {

/// What is multiplied: bf16 or f16, f32 rounded to TF32, or f32.
enum class Multiplied { narrow, tf32, f32 };

/// FLOP/s of products by NVIDIA's data sheet, without sparsity, of the GPU that
/// the driver calls `name`; 0: not in the table.
double dataSheetFlops(const std::string &name, Multiplied multiplied);

/// Bytes per second of its memory, likewise.
double dataSheetBandwidth(const std::string &name);

} // namespace honert

#endif // HONERT_EXEC_CUDA_CORE_DATASHEET_H
