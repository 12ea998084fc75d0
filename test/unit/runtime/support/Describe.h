//===- Describe.h - Short programs for tests ------------------------------===//

#ifndef TEST_UNIT_RUNTIME_DESCRIBE_H
#define TEST_UNIT_RUNTIME_DESCRIBE_H

#include "honert/honert.h"
#include "program/Program.h"

#include <array>
#include <memory>

namespace test {

using ProgramPtr = std::unique_ptr<honert_program, void (*)(honert_program *)>;

inline ProgramPtr makeProgram() {
  ProgramPtr program(honert_program_new(), honert_program_free);
  honert_meta_number(program.get(), "abi", HONERT_ABI);
  return program;
}

inline int64_t alignUp(int64_t bytes) { return (bytes + 63) / 64 * 64; }

/// Hands out offsets one after the other.
class Layout {
public:
  int64_t take(int64_t bytes) {
    int64_t offset = next;
    next += alignUp(bytes);
    return offset;
  }
  int64_t bytes() const { return next; }

private:
  int64_t next = 0;
};

} // namespace test

#endif // TEST_UNIT_RUNTIME_DESCRIBE_H
