//===- CudaFixture.h - Programs on the GPU that the fake shows ------------===//

#ifndef TEST_UNIT_RUNTIME_CUDAFIXTURE_H
#define TEST_UNIT_RUNTIME_CUDAFIXTURE_H

#include "emulation/driver/FakeCuda.h"
#include "exec/Executor.h"
#include "support/Describe.h"
#include "support/Run.h"

#include <gtest/gtest.h>

namespace test {

/// Starts with a fresh fake and an empty cache folder. At the end nothing is
/// left on the device, and nothing was asked that a driver forbids.
class Cuda : public testing::Test {
protected:
  Cuda();
  ~Cuda() override;

  static honert::fake::State &fake() { return honert::fake::state(); }
  static int calls(const char *function) { return fake().calls[function]; }
  std::string cacheFile() const {
    return folder / "cache/hone/matmul-algorithms";
  }

  Folder folder;
  bool expectsMistakes = false;
};

/// PTX, as far as the fake reads it.
std::string ptx(int arch, const std::vector<std::string> &kernels);

/// Makes kernels of the host ones of the device: code, and what the fake runs.
/// `code` outlives the program. Before joinStages().
std::map<std::string, honert::fake::HostKernel>
moveToDevice(honert_program *program, std::string &code);

/// A program of host kernels made one for CUDA: each launch of a kernel becomes
/// a device launch, which the fake runs by the host's function.
class CudaProgram {
public:
  explicit CudaProgram(const TinyModel &model);

  honert_program *get() { return program.get(); }
  Outcome run(std::vector<std::string> arguments) {
    return test::run(program.get(), std::move(arguments));
  }
  size_t launches() const { return count; } ///< of kernels

private:
  ProgramPtr program;
  std::string code;
  size_t count = 0;
};

} // namespace test

#endif // TEST_UNIT_RUNTIME_CUDAFIXTURE_H
