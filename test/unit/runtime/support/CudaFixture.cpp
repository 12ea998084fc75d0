//===- CudaFixture.cpp - Programs on the GPU that the fake shows ----------===//

#include "support/CudaFixture.h"

#include <cstdlib>

using namespace test;

Cuda::Cuda() {
  fake().reset();
  setenv("XDG_CACHE_HOME", (folder / "cache").c_str(), 1);
  unsetenv("HONE_CHECK_LAUNCHES");
}

Cuda::~Cuda() {
  for (const auto &[kind, count] : fake().live)
    ADD_FAILURE() << count << " " << kind << " left";
  if (!expectsMistakes)
    for (const std::string &mistake : fake().mistakes)
      ADD_FAILURE() << mistake;
}

std::string test::ptx(int arch, const std::vector<std::string> &kernels) {
  std::string text = ".version 8.0\n.target sm_" + std::to_string(arch) + "\n";
  for (const std::string &kernel : kernels)
    text += ".visible .entry " + kernel + "() { ret; }\n";
  return text;
}

/// Those of one stage, or of a program without stages.
static void
moveKernels(honert::Program &program,
            std::map<std::string, honert::fake::HostKernel> &kernels,
            std::vector<std::string> &names) {
  for (honert::Function &function : program.functions)
    for (honert::Launch &launch : function.launches) {
      auto *host = std::get_if<honert::KernelLaunch>(&launch.action);
      if (!host)
        continue;
      names.push_back("kernel" + std::to_string(names.size()));
      kernels[names.back()] = {host->offsets.size(),
                               [kernel = host->kernel, items = host->items](
                                   void *const *buffers, int64_t, int64_t) {
                                 kernel(buffers, 0, items);
                               }};
      launch.action = honert::DeviceLaunch{
          names.back(), (host->items + 127) / 128, 128, host->offsets};
    }
}

std::map<std::string, honert::fake::HostKernel>
test::moveToDevice(honert_program *program, std::string &code) {
  std::map<std::string, honert::fake::HostKernel> kernels;
  std::vector<std::string> names;
  honert_meta(program, "target", "cuda sm_80");
  moveKernels(*program, kernels, names);
  for (honert::Program &stage : program->stages)
    moveKernels(stage, kernels, names);
  code = ptx(80, names);
  honert_device_code(program, 0, 80, code.data(), int64_t(code.size()));
  return kernels;
}

CudaProgram::CudaProgram(const TinyModel &model)
    : program(honert_program_new(), honert_program_free) {
  describe(model, program.get());
  auto kernels = moveToDevice(program.get(), code);
  count = kernels.size();
  honert::fake::state().settings.kernels.merge(kernels);
}
