//===- DeviceCase.h - Kernels written as text -------------------*- C++ -*-===//

#ifndef HONE_TEST_DEVICE_DEVICECASE_H
#define HONE_TEST_DEVICE_DEVICECASE_H

#include "DeviceJit.h"

#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace hone::test {

/// The text of the gpu.module's body, ready to run.
class DeviceCase {
public:
  explicit DeviceCase(const std::string &body)
      : module(parse(*context, body)), jit(*module) {}

  std::unique_ptr<mlir::MLIRContext> context = makeDeviceContext();
  mlir::OwningOpRef<mlir::ModuleOp> module;
  DeviceJit jit;

private:
  static mlir::OwningOpRef<mlir::ModuleOp> parse(mlir::MLIRContext &context,
                                                 const std::string &body) {
    auto module = mlir::parseSourceString<mlir::ModuleOp>(
        "gpu.module @device {\n" + body + "\n}", &context);
    if (!module) {
      ADD_FAILURE() << "does not parse: " << body;
      std::abort();
    }
    return module;
  }
};

/// `text` with the line that holds `marker` replaced by `line`.
inline std::string replaceLine(std::string text, const std::string &marker,
                               const std::string &line) {
  size_t at = text.find(marker);
  EXPECT_NE(at, std::string::npos) << marker;
  size_t begin = text.rfind('\n', at) + 1, end = text.find('\n', at);
  return text.replace(begin, end - begin, line);
}

/// Checks that what the emulator finds includes `part`.
inline void expectSays(const std::string &mistake, const std::string &part) {
  EXPECT_NE(mistake.find(part), std::string::npos)
      << "'" << mistake << "', expected '" << part << "'";
}

/// A buffer of the elements of `values`.
template <typename T> DeviceBuffer bufferOf(std::vector<T> &values) {
  return {values.data(), int64_t(values.size() * sizeof(T))};
}

} // namespace hone::test

#endif // HONE_TEST_DEVICE_DEVICECASE_H
