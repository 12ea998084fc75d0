//===- Fuzz.h - Random inputs for one reader --------------------*- C++ -*-===//
//
// A fuzzer is a file with two functions. FuzzMain.cpp runs it with fixed seeds;
// libFuzzer can drive the second one as well (clang++ -fsanitize=fuzzer).
//
//===----------------------------------------------------------------------===//

#ifndef TEST_UNIT_FUZZ_FUZZ_H
#define TEST_UNIT_FUZZ_FUZZ_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// Good inputs, which mutants are made from. `arguments`: files, where the
/// fuzzer takes its inputs from files.
std::vector<std::string> fuzzSeeds(const std::vector<std::string> &arguments);

/// Reads one input; whatever is wrong with the reader crashes. Returns 0 if the
/// input was accepted, -1 if it was refused.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

inline std::string_view view(const uint8_t *data, size_t size) {
  return {reinterpret_cast<const char *>(data), size};
}

#endif // TEST_UNIT_FUZZ_FUZZ_H
