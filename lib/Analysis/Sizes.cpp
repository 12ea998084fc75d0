//===- Sizes.cpp - Bytes as text ------------------------------------------===//

#include "hone/Analysis/Sizes.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>
#include <limits>

using namespace hone;

std::string hone::formatBytes(int64_t bytes) {
  const char *units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = double(bytes);
  unsigned unit = 0;
  for (; value >= 1024 && unit + 1 < std::size(units); ++unit)
    value /= 1024;
  return unit == 0 ? llvm::formatv("{0} B", bytes).str()
                   : llvm::formatv("{0:F2} {1}", value, units[unit]).str();
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
