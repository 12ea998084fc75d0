//===- DataSheet.cpp - What a GPU can do at most --------------------------===//

#include "cuda/DataSheet.h"

using namespace honert;

namespace {
struct Sheet {
  const char *fragment; ///< of the name
  double narrow, tf32, f32;
};
} // namespace

// The first fragment in a name counts: variants come before their family.
static constexpr Sheet sheets[] = {
    {"A100", 312e12, 156e12, 19.5e12},   {"H100 PCIe", 756e12, 378e12, 51e12},
    {"H100 NVL", 835e12, 417e12, 60e12}, {"H100", 989e12, 494e12, 67e12},
    {"H200 NVL", 835e12, 417e12, 60e12}, {"H200", 989e12, 494e12, 67e12},
};

double honert::dataSheetFlops(const std::string &name, Multiplied multiplied) {
  for (const Sheet &sheet : sheets)
    if (name.find(sheet.fragment) != std::string::npos)
      return multiplied == Multiplied::narrow ? sheet.narrow
             : multiplied == Multiplied::tf32 ? sheet.tf32
                                              : sheet.f32;
  return 0;
}
