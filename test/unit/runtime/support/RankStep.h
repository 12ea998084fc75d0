//===- RankStep.h - A step of what ranks do together ----------------------===//

#ifndef TEST_UNIT_RUNTIME_RANKSTEP_H
#define TEST_UNIT_RUNTIME_RANKSTEP_H

#include "support/Describe.h"

#include <gtest/gtest.h>

namespace test {

/// A step made of what ranks do together, for arena bytes that are all drawn.
class RankStep {
public:
  explicit RankStep(std::vector<int64_t> sizes) {
    for (size_t i = 0; i != sizes.size(); ++i)
      honert_mesh_axis(p, std::string(1, char('a' + i)).c_str(), sizes[i], "");
    honert_function(p, "step");
  }

  int64_t take(int64_t bytes) { return layout.take(bytes); }
  void collective(honert::CollectiveKind kind, honert::DType dtype,
                  int64_t count, honert::Axes axes, int64_t token = -1,
                  honert::ReduceKind reduce = honert::ReduceKind::sum,
                  int64_t amount = 0) {
    int64_t ranks = p->mesh.groupSize(axes),
            bytes = count * honert::byteWidth(dtype);
    int64_t in = take(bytes);
    int64_t out =
        take(kind == honert::CollectiveKind::allGather ? ranks * bytes : bytes);
    honert_collective(p, "all", "m.py:3", int64_t(kind), int64_t(reduce),
                      amount, int64_t(dtype), count, int64_t(axes.size()),
                      axes.data(), in, out, token);
  }
  /// A square product.
  void matmul(int64_t size) {
    const int64_t strides[12] = {0, size, 1, 0, size, 1,
                                 0, size, 1, 0, size, 1};
    int64_t bytes = 4 * size * size, a = take(bytes), b = take(bytes);
    honert_matmul(p, "fc", "m.py:4", int64_t(honert::DType::f32),
                  int64_t(honert::DType::f32), 1, size, size, size, strides, a,
                  b, take(bytes), -1, -1);
  }
  void wait(int64_t token) { honert_wait(p, token); }
  void shard(honert::Axes axes, int64_t rows, int64_t bytes) {
    int64_t in = take(rows * bytes * p->mesh.groupSize(axes));
    honert_shard(p, "own", "", int64_t(axes.size()), axes.data(), rows, bytes,
                 in, take(rows * bytes));
  }
  void coordinate(honert::Axes axes) {
    honert_coordinate(p, int64_t(axes.size()), axes.data(), take(8));
  }
  /// A device kernel without parameters, whose code must outlive the step.
  void kernel(const char *name, const std::string &code) {
    honert_device_code(p, 0, 80, code.data(), int64_t(code.size()));
    honert_device_launch(p, name, "", name, 1, 1, 0, nullptr);
  }
  /// The description is complete; `onDevice`: a program for CUDA.
  const honert::Program &finish(bool onDevice) {
    honert_meta(p, "target", onDevice ? "cuda sm_80" : "cpu");
    honert_result(p, "loss", 0, 0, nullptr, take(4));
    honert_arena(p, layout.bytes());
    EXPECT_EQ(p->check().message(), "");
    return *p;
  }

private:
  ProgramPtr program = makeProgram();
  honert_program *p = program.get();
  Layout layout;
};

} // namespace test

#endif // TEST_UNIT_RUNTIME_RANKSTEP_H
