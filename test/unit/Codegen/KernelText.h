//===- KernelText.h - Functions and values of kernel cases ------*- C++ -*-===//
//
// Text of functions of one op, and floats at which ops differ most.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_TEST_KERNELS_KERNELTEXT_H
#define HONE_TEST_KERNELS_KERNELTEXT_H

#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace hone::test {

using Words = std::vector<std::pair<std::string, std::string>>;

/// The text with each word replaced by its value, in their order.
inline std::string with(std::string text, const Words &words) {
  for (const auto &[from, to] : words)
    for (size_t at = text.find(from); at != std::string::npos;
         at = text.find(from, at + to.size()))
      text.replace(at, from.size(), to);
  return text;
}

/// f(x) = op x, on a type.
inline std::string unary(const std::string &op, const std::string &type) {
  return with("func.func @f(%x: T) -> T {\n  %y = hone.OP %x : T\n"
              "  return %y : T\n}",
              {{"OP", op}, {"T", type}});
}

inline std::string binary(const std::string &op, const std::string &type) {
  return with("func.func @f(%x: T, %y: T) -> T {\n  %z = hone.OP %x, %y : T\n"
              "  return %z : T\n}",
              {{"OP", op}, {"T", type}});
}

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double notANumber = std::numeric_limits<double>::quiet_NaN();
inline const std::vector<double> special = {0.0,        -0.0,  inf,  -inf,
                                            notANumber, 1.0,   -1.0, 80.0,
                                            -80.0,      1e-20, 0.25, -2.5};

} // namespace hone::test

#endif // HONE_TEST_KERNELS_KERNELTEXT_H
