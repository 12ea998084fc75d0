//===- ByteSize.cpp - Bytes as text ---------------------------------------===//

#include "hone/Support/ByteSize.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>
#include <limits>

using namespace hone;

/// `bytes` in the largest unit of which there is one at least.
static std::pair<double, const char *> scaleBytes(int64_t bytes) {
  const char *units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = double(bytes);
  unsigned unit = 0;
  for (; value >= 1024 && unit + 1 < std::size(units); ++unit)
    value /= 1024;
  return {value, units[unit]};
}

std::string hone::formatBytes(int64_t bytes) {
  auto [value, unit] = scaleBytes(bytes);
  return bytes < 1024 ? llvm::formatv("{0} B", bytes).str()
                      : llvm::formatv("{0:F2} {1}", value, unit).str();
}

std::string hone::formatBytesToType(int64_t bytes) {
  if (bytes < 1024)
    return llvm::formatv("{0}B", bytes).str();
  auto [value, unit] = scaleBytes(bytes);
  double hundredths = std::ceil(value * 100);
  std::string text;
  do // The decimal fraction may lie below what it stands for.
    text = llvm::formatv("{0:F2}{1}", hundredths++ / 100, unit);
  while (parseBytes(text).value_or(bytes) < bytes);
  return text;
}

std::optional<int64_t> hone::parseBytes(llvm::StringRef text) {
  llvm::StringRef number =
      text.take_while([](char c) { return llvm::isDigit(c) || c == '.'; });
  llvm::StringRef unit = text.drop_front(number.size()).ltrim();
  double value = 0;
  if (number.empty() || number.getAsDouble(value))
    return std::nullopt;
  if (!unit.empty() && unit != "B") {
    size_t power = llvm::StringRef("KMGT").find(llvm::toUpper(unit.front()));
    llvm::StringRef rest = unit.drop_front();
    if (power == llvm::StringRef::npos ||
        !(rest.empty() || rest == "iB" || rest == "B"))
      return std::nullopt;
    value *= std::pow(rest == "B" ? 1000.0 : 1024.0, double(power + 1));
  }
  if (!(value >= 1) || value >= double(std::numeric_limits<int64_t>::max()))
    return std::nullopt;
  return int64_t(value);
}
