//===- DataSheet.cpp - What a GPU can do at most --------------------------===//

#include "exec/cuda/core/DataSheet.h"

using namespace honert;

namespace {
struct Sheet {
  const char *fragment; ///< of the name
  double narrow, tf32, f32, bandwidth;
};
} // namespace

// The first fragment in a name counts: variants come before their family.
static constexpr Sheet sheets[] = {
    {"A100-SXM4-80GB", 312e12, 156e12, 19.5e12, 2.039e12},
    {"A100 80GB PCIe", 312e12, 156e12, 19.5e12, 1.935e12},
    {"A100", 312e12, 156e12, 19.5e12, 1.555e12},
    {"H100 PCIe", 756e12, 378e12, 51e12, 2.0e12},
    {"H100 NVL", 835e12, 417e12, 60e12, 3.9e12},
    {"H100", 989e12, 494e12, 67e12, 3.35e12},
    {"H200 NVL", 835e12, 417e12, 60e12, 4.8e12},
    {"H200", 989e12, 494e12, 67e12, 4.8e12},
};

static const Sheet *sheetOf(const std::string &name) {
  for (const Sheet &sheet : sheets)
    if (name.find(sheet.fragment) != std::string::npos)
      return &sheet;
  return nullptr;
}

double honert::dataSheetFlops(const std::string &name, Multiplied multiplied) {
  const Sheet *sheet = sheetOf(name);
  if (!sheet)
    return 0;
  return multiplied == Multiplied::narrow ? sheet->narrow
         : multiplied == Multiplied::tf32 ? sheet->tf32
                                          : sheet->f32;
}

double honert::dataSheetBandwidth(const std::string &name) {
  const Sheet *sheet = sheetOf(name);
  return sheet ? sheet->bandwidth : 0;
}
