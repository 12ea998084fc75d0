//===- RuleOps.h - Ops that tests divide among ranks ------------*- C++ -*-===//

#ifndef HONE_TEST_SHARDING_RULEOPS_H
#define HONE_TEST_SHARDING_RULEOPS_H

#include "hone/Interpreter/Tensor.h"

#include <ostream>
#include <string>
#include <vector>

namespace hone::test {

struct OpText {
  std::string name;
  std::vector<std::string> arguments, results;
  std::string op; ///< `%r:2 = ...` or `%r = ...`
  double tolerance = 1e-12;
  interp::Mode mode = interp::Mode::F64;
};

inline void PrintTo(const OpText &op, std::ostream *os) { *os << op.name; }

/// Elementwise ops; moves, sums, windows, layers and losses; ops with random
/// numbers; updates with moments in codes.
std::vector<OpText> elementOps();
std::vector<OpText> ops();
std::vector<OpText> randomOps();
std::vector<OpText> codedOps();

} // namespace hone::test

#endif // HONE_TEST_SHARDING_RULEOPS_H
