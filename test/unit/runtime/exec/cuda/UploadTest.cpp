//===- UploadTest.cpp - State on its way to a GPU -------------------------===//

#include "exec/cuda/core/Upload.h"

#include "support/CudaFixture.h"

#include <cstring>
#include <numeric>

using namespace honert;

namespace {

class Uploads : public test::Cuda {
protected:
  Uploads() {
    EXPECT_TRUE(device.open().ok() && device.choose().ok() &&
                device.start().ok());
  }
  /// Copies `bytes` bytes in one call; what the device then has of them.
  std::vector<char> copied(const std::vector<char> &source) {
    DeviceMemory memory;
    auto bytes = static_cast<int64_t>(source.size());
    EXPECT_TRUE(memory.allocate(device, bytes, "memory").ok());
    std::vector<char> given = source, back(source.size());
    Upload upload(device, pool);
    EXPECT_TRUE(upload.copy(given.data(), memory.at(0), bytes).ok());
    std::fill(given.begin(), given.end(), 'x'); // it is read already
    EXPECT_TRUE(
        device
            .check(device.functions().cuMemcpyDtoHAsync_v2(
                       back.data(), memory.at(0), back.size(), device.stream()),
                   "back")
            .ok());
    EXPECT_TRUE(device.synchronize("back").ok());
    return back;
  }

  Device device;
  ThreadPool pool{2};
};

} // namespace

/// One buffer, exactly one, parts of several, and each reused.
TEST_F(Uploads, every_byte_arrives) {
  for (size_t size : {size_t(1), size_t(16) << 20, (size_t(80) << 20) + 5}) {
    std::vector<char> source(size);
    for (size_t i = 0; i != size; ++i)
      source[i] = static_cast<char>(i * 2654435761u >> 13);
    EXPECT_EQ(copied(source), source) << size;
  }
}

TEST_F(Uploads, errors_say_what_failed) {
  fake().failCall("cuMemcpyHtoDAsync_v2", 2, CUDA_ERROR_ILLEGAL_ADDRESS);
  DeviceMemory memory;
  ASSERT_TRUE(memory.allocate(device, 40 << 20, "memory").ok());
  std::vector<char> source(40 << 20);
  Status status =
      Upload(device, pool).copy(source.data(), memory.at(0), 40 << 20);
  EXPECT_EQ(status.message().rfind("state cannot be copied to the GPU", 0), 0u)
      << status.message();
}

/// Moments start at zero: the GPU sets them, and nothing of them travels.
TEST_F(Uploads, zeros_do_not_travel) {
  std::string data = folder / "tokens.bin";
  test::writeTokens(data, 400);
  test::CudaProgram program({});
  int moments = 0;
  for (Argument &argument : program.get()->arguments)
    if (argument.kind == Kind::opt && argument.bytes > 4) {
      argument.init = InitKind::constant;
      argument.a = 0;
      ++moments;
    }
  ASSERT_GT(moments, 0);
  int before = calls("cuMemsetD8Async");
  EXPECT_EQ(program.run({"--data", data, "--steps", "1"}).code, 0);
  EXPECT_GE(calls("cuMemsetD8Async") - before, moments);
}
