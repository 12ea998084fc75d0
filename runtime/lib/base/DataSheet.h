//===- DataSheet.h - What NVIDIA publishes of its GPUs ----------*- C++ -*-===//

#ifndef HONERT_BASE_DATASHEET_H
#define HONERT_BASE_DATASHEET_H

#include <optional>
#include <string_view>

namespace honert {

/// The peaks of one GPU by NVIDIA's data sheet, without sparsity.
struct DataSheet {
  std::string_view model; ///< words of the name that the driver gives
  double narrow;    ///< FLOP/s of products of bf16 or f16, with sums of f32
  double tf32;      ///< of f32 rounded to TF32; 0: not known
  double f32;       ///< 0: not known
  double bandwidth; ///< of its memory, bytes/s
  double gib;       ///< its memory as it is sold; a driver shows up to 7 % less
  int arch;         ///< 90 of sm_90
  double link; ///< to the host's memory, each way beside the other, bytes/s
};

/// What copies reach between the memories of host and GPU. Of PCIe 5 with 16
/// lanes, an H100 reached 41 to 45 GB/s and an H200 50; with copies in one
/// direction 54 and 55. PCIe 4 is taken as half, and NVLink-C2C as
/// published for GB200 and memory that is near: neither was measured.
inline constexpr double pcie5 = 45e9, pcie4 = 22.5e9, pcie4x8 = 11.25e9,
                        c2c = 350e9;

// The first model in a name counts: variants come before their family.
inline constexpr DataSheet dataSheets[] = {
    // Ampere
    {"A100-SXM4-80GB", 312e12, 156e12, 19.5e12, 2.039e12, 80, 80, pcie4},
    {"A100 80GB PCIe", 312e12, 156e12, 19.5e12, 1.935e12, 80, 80, pcie4},
    {"A100-SXM4-40GB", 312e12, 156e12, 19.5e12, 1.555e12, 40, 80, pcie4},
    {"A100-PCIE-40GB", 312e12, 156e12, 19.5e12, 1.555e12, 40, 80, pcie4},
    {"A30", 165e12, 82e12, 10.3e12, 0.933e12, 24, 80, pcie4},
    {"A10", 125e12, 62.5e12, 31.2e12, 0.6e12, 24, 86, pcie4},
    {"A40", 149.7e12, 74.8e12, 37.4e12, 0.696e12, 48, 86, pcie4},
    {"RTX A6000", 154.8e12, 77.4e12, 38.7e12, 0.768e12, 48, 86, pcie4},
    // Ada
    {"L4", 121e12, 60e12, 30.3e12, 0.3e12, 24, 89, pcie4},
    {"L40", 181e12, 90.5e12, 90.5e12, 0.864e12, 48, 89, pcie4},
    {"L40S", 362e12, 183e12, 91.6e12, 0.864e12, 48, 89, pcie4},
    {"RTX 6000 Ada", 364e12, 182e12, 91.1e12, 0.96e12, 48, 89, pcie4},
    {"RTX 4090", 165.2e12, 82.6e12, 82.6e12, 1.008e12, 24, 89, pcie4},
    {"RTX 4080 SUPER", 104.4e12, 52.2e12, 52.2e12, 0.736e12, 16, 89, pcie4},
    {"RTX 4080", 97.5e12, 48.7e12, 48.7e12, 0.717e12, 16, 89, pcie4},
    {"RTX 4070 Ti SUPER", 88.2e12, 44.1e12, 44.1e12, 0.672e12, 16, 89, pcie4},
    {"RTX 4070 Ti", 80.2e12, 40.1e12, 40.1e12, 0.504e12, 12, 89, pcie4},
    {"RTX 4070 SUPER", 70.9e12, 35.5e12, 35.5e12, 0.504e12, 12, 89, pcie4},
    {"RTX 4070", 58.3e12, 29.1e12, 29.1e12, 0.504e12, 12, 89, pcie4},
    {"RTX 4060 Ti", 44.1e12, 22.1e12, 22.1e12, 0.288e12, 8, 89, pcie4x8},
    {"RTX 4060", 30.2e12, 15.1e12, 15.1e12, 0.272e12, 8, 89, pcie4x8},
    // Hopper
    {"H100 PCIe", 756e12, 378e12, 51e12, 2.0e12, 80, 90, pcie5},
    {"H100 NVL", 835e12, 417e12, 60e12, 3.9e12, 94, 90, pcie5},
    {"H100", 989e12, 494e12, 67e12, 3.35e12, 80, 90, pcie5},
    {"H200 NVL", 835e12, 417e12, 60e12, 4.8e12, 141, 90, pcie5},
    {"H200", 989e12, 494e12, 67e12, 4.8e12, 141, 90, pcie5},
    {"GH200 480GB", 989e12, 494e12, 67e12, 4.0e12, 96, 90, c2c},
    {"GH200 144G HBM3e", 989e12, 494e12, 67e12, 4.9e12, 144, 90, c2c},
    {"H20", 148e12, 74e12, 44e12, 4.0e12, 96, 90, pcie5},
    // Blackwell
    {"B200", 2250e12, 1100e12, 80e12, 8.0e12, 180, 100, pcie5},
    {"GB200", 2500e12, 1250e12, 90e12, 8.0e12, 186, 100, c2c},
    {"B300", 2250e12, 1125e12, 75e12, 8.0e12, 288, 103, pcie5},
    {"GB300", 2500e12, 1250e12, 0, 8.0e12, 288, 103, c2c},
    {"RTX 5090", 209.5e12, 104.8e12, 104.8e12, 1.792e12, 32, 120, pcie5},
    {"RTX 5080", 112.6e12, 56.3e12, 56.3e12, 0.96e12, 16, 120, pcie5},
    {"RTX 5070 Ti", 87.9e12, 43.9e12, 43.9e12, 0.896e12, 16, 120, pcie5},
    {"RTX 5070", 61.7e12, 30.9e12, 30.9e12, 0.672e12, 12, 120, pcie5},
};

/// Whether `words` are in `name` as whole words.
constexpr bool hasWords(std::string_view name, std::string_view words) {
  auto isOfWord = [&](size_t at) {
    if (at >= name.size())
      return false;
    char c = name[at];
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
           (c >= 'a' && c <= 'z');
  };
  for (size_t at = name.find(words); at != std::string_view::npos;
       at = name.find(words, at + 1))
    if ((at == 0 || !isOfWord(at - 1)) && !isOfWord(at + words.size()))
      return true;
  return false;
}

/// The sheet with what a slice of the GPU has of it (MIG): of "3g.71gb", three
/// eighths of its units and four eighths of its memory.
constexpr std::optional<DataSheet> ofSlice(DataSheet sheet,
                                           std::string_view profile) {
  if (profile.size() < 2 || profile[1] != 'g')
    return std::nullopt;
  int slices = profile[0] - '0';
  if (slices != 1 && slices != 2 && slices != 3 && slices != 4 && slices != 7)
    return std::nullopt;
  double units = slices == 7 ? 1 : slices / 8.0;
  double memory = slices == 7 ? 1 : slices >= 3 ? 0.5 : slices / 8.0;
  sheet.narrow *= units;
  sheet.tf32 *= units;
  sheet.f32 *= units;
  sheet.bandwidth *= memory;
  sheet.gib *= memory;
  return sheet;
}

/// That of the GPU, or the slice of one, that the driver calls `name`. Laptops
/// have other chips under the names of these.
constexpr std::optional<DataSheet> findDataSheet(std::string_view name) {
  if (hasWords(name, "Laptop"))
    return std::nullopt;
  constexpr std::string_view slice = " MIG ";
  for (const DataSheet &sheet : dataSheets)
    if (hasWords(name, sheet.model)) {
      size_t at = name.find(slice);
      if (at == std::string_view::npos)
        return sheet;
      return ofSlice(sheet, name.substr(at + slice.size()));
    }
  return std::nullopt;
}

} // namespace honert

#endif // HONERT_BASE_DATASHEET_H
