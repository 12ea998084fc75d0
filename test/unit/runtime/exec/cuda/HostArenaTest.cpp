//===- HostArenaTest.cpp - The second arena of a GPU's program ------------===//

#include "exec/cuda/core/HostArena.h"

#include "support/CudaFixture.h"

#include <cstring>

using namespace honert;
using fake::Engine;
using fake::RecordedNode;

namespace {

constexpr auto down = CopyDirection::down, up = CopyDirection::up;
constexpr int64_t bytes = 3 << 10, piece = 2 << 10;

class HostArenas : public test::Cuda {
protected:
  HostArenas() : host(2 * bytes) {
    EXPECT_TRUE(device.open().ok() && device.choose().ok() &&
                device.start().ok());
    EXPECT_TRUE(arena.allocate(device, bytes, "the arena").ok());
    program.hostBytes = 2 * bytes;
    program.functions.emplace_back();
    for (int64_t token : {0, 1, 2})
      program.functions[0].launches.push_back(
          {"copy", "", CopyLaunch{up, 0, 0, bytes, token}});
    for (int64_t i = 0; i != 2 * bytes; ++i)
      host[i] = content(i);
  }

  static char content(int64_t i) {
    return static_cast<char>(i * 2654435761u >> 11);
  }
  /// The second arena's first half goes up; then down to its second half.
  Status roundTrip(HostArena &copies) {
    for (int64_t i = 0; i != bytes; ++i)
      host[i] = content(i); // start() has set it to zero
    HONERT_TRY(copies.begin({up, 0, 0, bytes, 0}, arena, "copy"));
    HONERT_TRY(copies.wait({0}));
    HONERT_TRY(copies.begin({down, 0, bytes, bytes, 1}, arena, "copy"));
    return copies.wait({1});
  }
  Status capture(CUgraphExec &graph, const std::function<Status()> &body) {
    const DriverFunctions &driver = device.functions();
    CUgraph captured = nullptr;
    HONERT_TRY(
        device.check(driver.cuStreamBeginCapture_v2(
                         device.stream(), CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
                     "begin"));
    HONERT_TRY(body());
    HONERT_TRY(device.check(
        driver.cuStreamEndCapture(device.stream(), &captured), "end"));
    Status made = device.check(
        driver.cuGraphInstantiateWithFlags(&graph, captured, 0), "make");
    (void)driver.cuGraphDestroy(captured);
    return made;
  }
  void expectRoundTrip() {
    for (int64_t i = 0; i != bytes; ++i)
      ASSERT_EQ(host[bytes + i], content(i)) << i;
  }

  Program program;
  std::vector<char> host;
  Device device;
  DeviceMemory arena;
  ThreadPool pool{2};
};

} // namespace

/// Copies that reach over the borders of what is registered at a time.
TEST_F(HostArenas, bytes_go_up_and_down) {
  HostArena copies(device, program, piece);
  ASSERT_EQ(copies.start(host.data(), pool).message(), "");
  EXPECT_EQ(fake().live["registered memory"], 3);
  ASSERT_EQ(roundTrip(copies).message(), "");
  ASSERT_TRUE(device.synchronize("copies").ok());
  expectRoundTrip();
  EXPECT_EQ(calls("cuMemcpyHtoDAsync_v2"), 2);
  EXPECT_EQ(calls("cuMemcpyDtoHAsync_v2"), 2);
}

/// Other streams late or early: the copy down waits for the one up by way of
/// the main stream, and the main stream for both.
TEST_F(HostArenas, graphs_have_copies) {
  for (bool isEarly : {false, true}) {
    fake().settings.copiesRunAhead = isEarly;
    HostArena copies(device, program, piece);
    ASSERT_EQ(copies.start(host.data(), pool).message(), "");
    CUgraphExec graph = nullptr;
    ASSERT_EQ(capture(graph, [&] { return roundTrip(copies); }).message(), "");
    ASSERT_EQ(fake().recorded.size(), 4u);
    EXPECT_EQ(fake().recorded[2].demand.engine, Engine::down);
    std::fill(host.begin() + bytes, host.end(), 0);
    (void)device.functions().cuGraphLaunch(graph, device.stream());
    ASSERT_TRUE(device.synchronize("copies").ok());
    expectRoundTrip();
    (void)device.functions().cuGraphExecDestroy(graph);
  }
}

TEST_F(HostArenas, a_driver_may_refuse_a_piece) {
  fake().settings.pinnableBytes = 5 << 10;
  HostArena copies(device, program, piece);
  EXPECT_EQ(copies.start(host.data(), pool).message(),
            "the second arena needs 6.00 KiB of pinned memory, of which the "
            "driver gave 4.00 KiB (honec --host-memory=SIZE limits it): "
            "CUDA_ERROR_OUT_OF_MEMORY (as told to fail)");
}

TEST_F(HostArenas, copies_beside_launches_need_registered_memory) {
  expectsMistakes = true;
  EXPECT_EQ(device.functions().cuMemcpyHtoDAsync_v2(arena.at(0), host.data(),
                                                    64, device.copyStream()),
            CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(fake().mistakes.size(), 1u);
  EXPECT_EQ(fake().mistakes[0], "a copy beside launches whose memory of the "
                                "host is not registered");
}

//===----------------------------------------------------------------------===//
// When the nodes of a graph end
//===----------------------------------------------------------------------===//

namespace {
std::vector<double> endsOf(const std::vector<RecordedNode> &nodes) {
  return fake::endsOf(nodes, {100, 50, 1, {10, 20, 5}});
}

RecordedNode launch(std::vector<size_t> after) { return {"k", after, {}}; }
RecordedNode copy(Engine engine, int64_t size, std::vector<size_t> after) {
  return {"copy", after, {engine, size}};
}
} // namespace

/// Two copies up, one after the other, beside a launch; the next launch waits
/// for the second.
TEST(GraphClock, engines_work_beside_each_other) {
  EXPECT_EQ(
      endsOf({copy(Engine::up, 400, {}), copy(Engine::up, 600, {}), launch({}),
              launch({1, 2}), copy(Engine::down, 100, {3}), launch({3})}),
      (std::vector<double>{5, 12, 10, 32, 35, 37}));
}

/// Without the edge that a wait makes, the launch does not wait.
TEST(GraphClock, only_edges_make_nodes_wait) {
  EXPECT_EQ(endsOf({copy(Engine::up, 4000, {}), launch({}), launch({1})}),
            (std::vector<double>{41, 10, 30}));
}
