//===- DataSheet.h - What NVIDIA publishes of its GPUs ----------*- C++ -*-===//

#ifndef HONERT_BASE_DATASHEET_H
#define HONERT_BASE_DATASHEET_H

#include <string_view>

namespace honert {

/// The peaks of one GPU by NVIDIA's data sheet, without sparsity.
struct DataSheet {
  std::string_view fragment; ///< of the name that the driver gives
  double narrow;             ///< FLOP/s of products of bf16 or f16
  double tf32;               ///< of f32 rounded to TF32; 0: not known
  double f32;                ///< 0: not known
  double bandwidth;          ///< of its memory, bytes/s
};

// The first fragment in a name counts: variants come before their family.
inline constexpr DataSheet dataSheets[] = {
    {"A100-SXM4-80GB", 312e12, 156e12, 19.5e12, 2.039e12},
    {"A100 80GB PCIe", 312e12, 156e12, 19.5e12, 1.935e12},
    {"A100", 312e12, 156e12, 19.5e12, 1.555e12},
    {"H100 PCIe", 756e12, 378e12, 51e12, 2.0e12},
    {"H100 NVL", 835e12, 417e12, 60e12, 3.9e12},
    {"H100", 989e12, 494e12, 67e12, 3.35e12},
    {"H200 NVL", 835e12, 417e12, 60e12, 4.8e12},
    {"H200", 989e12, 494e12, 67e12, 4.8e12},
    {"GB200", 2500e12, 0, 0, 8.0e12},
    {"B200", 2250e12, 0, 0, 8.0e12},
};

/// That of the GPU called `name`, or null.
constexpr const DataSheet *findDataSheet(std::string_view name) {
  for (const DataSheet &sheet : dataSheets)
    if (name.find(sheet.fragment) != std::string_view::npos)
      return &sheet;
  return nullptr;
}

} // namespace honert

#endif // HONERT_BASE_DATASHEET_H
