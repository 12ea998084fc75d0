//===- ByteSize.cpp - Bytes as text ---------------------------------------===//

#include "hone/Support/ByteSize.h"

#include "base/Types.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>
#include <limits>

using namespace hone;

std::string hone::formatBytes(int64_t bytes) {
  return honert::formatBytes(bytes);
}

std::string hone::formatBytesToType(int64_t bytes) {
  if (bytes < 1024)
    return llvm::formatv("{0}B", bytes).str();
  auto [value, unit] = honert::scaleBytes(bytes);
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
