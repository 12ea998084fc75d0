//===- DriverTest.cpp - What the fake driver notices ----------------------===//

#include "support/CudaFixture.h"

using namespace honert;
using namespace test;

namespace {

/// A driver that was started as the runtime starts it, with one stream.
class CudaFake : public Cuda {
protected:
  CudaFake() {
    expectsMistakes = true;
    EXPECT_EQ(fake::cuInit(0), CUDA_SUCCESS);
    EXPECT_EQ(fake::cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
    EXPECT_EQ(fake::cuCtxSetCurrent(context), CUDA_SUCCESS);
    EXPECT_EQ(fake::cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING),
              CUDA_SUCCESS);
    EXPECT_EQ(fake::cuMemAlloc_v2(&memory, 64), CUDA_SUCCESS);
    EXPECT_TRUE(Cuda::fake().mistakes.empty());
  }
  ~CudaFake() override {
    (void)fake::cuMemFree_v2(memory);
    (void)fake::cuStreamDestroy_v2(stream);
    (void)fake::cuDevicePrimaryCtxRelease_v2(0);
  }
  std::string mistake() {
    std::vector<std::string> &mistakes = Cuda::fake().mistakes;
    return mistakes.empty() ? "" : mistakes.back();
  }

  CUcontext context = nullptr;
  CUstream stream = nullptr;
  CUdeviceptr memory = 0;
  char host[64] = {};
};

TEST_F(CudaFake, a_call_without_a_context) {
  Cuda::fake().isCurrent = false;
  size_t free, total;
  EXPECT_EQ(fake::cuMemGetInfo_v2(&free, &total), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(mistake(), "cuMemGetInfo_v2 without a context");
}

TEST_F(CudaFake, memory_allocated_during_a_capture) {
  EXPECT_EQ(fake::cuStreamBeginCapture_v2(stream, 1), CUDA_SUCCESS);
  CUdeviceptr more;
  EXPECT_EQ(fake::cuMemAlloc_v2(&more, 64),
            CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_EQ(mistake(), "cuMemAlloc_v2 during a capture");
  EXPECT_NE(fake::cuStreamSynchronize(stream), CUDA_SUCCESS);
  CUgraph graph;
  EXPECT_EQ(fake::cuStreamEndCapture(stream, &graph), CUDA_SUCCESS);
  EXPECT_EQ(fake::cuGraphDestroy(graph), CUDA_SUCCESS);
}

TEST_F(CudaFake, pointers_of_the_host_and_of_the_device) {
  auto asDevice = reinterpret_cast<CUdeviceptr>(host);
  EXPECT_EQ(fake::cuMemcpyHtoDAsync_v2(asDevice, host, 8, stream),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(mistake(), "a copy outside the memory of the device");
  auto *asHost = reinterpret_cast<void *>(memory);
  EXPECT_EQ(fake::cuMemcpyDtoHAsync_v2(asHost, memory, 8, stream),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(mistake(), "a copy whose host side is the device's");
  EXPECT_EQ(fake::cuMemsetD8Async(memory + 60, 0, 8, stream),
            CUDA_ERROR_INVALID_VALUE);
}

/// What was put on a stream is done when somebody waits, not before.
TEST_F(CudaFake, results_that_nobody_waited_for) {
  ASSERT_EQ(fake::cuMemsetD8Async(memory, 7, 64, stream), CUDA_SUCCESS);
  ASSERT_EQ(fake::cuMemcpyDtoHAsync_v2(host, memory, 64, stream), CUDA_SUCCESS);
  EXPECT_EQ(host[0], 0);
  ASSERT_EQ(fake::cuStreamSynchronize(stream), CUDA_SUCCESS);
  EXPECT_EQ(host[0], 7);
  EXPECT_EQ(mistake(), "");
}

/// Pinned memory is read when the copy is made, other memory at once.
TEST_F(CudaFake, inputs_overwritten_too_early) {
  void *pinned = nullptr;
  ASSERT_EQ(fake::cuMemAllocHost_v2(&pinned, 8), CUDA_SUCCESS);
  *static_cast<char *>(pinned) = host[0] = 1;
  ASSERT_EQ(fake::cuMemcpyHtoDAsync_v2(memory, pinned, 1, stream),
            CUDA_SUCCESS);
  ASSERT_EQ(fake::cuMemcpyHtoDAsync_v2(memory + 1, host, 1, stream),
            CUDA_SUCCESS);
  *static_cast<char *>(pinned) = host[0] = 2;
  ASSERT_EQ(fake::cuStreamSynchronize(stream), CUDA_SUCCESS);
  auto *seen = reinterpret_cast<const char *>(memory);
  EXPECT_EQ(seen[0], 2);
  EXPECT_EQ(seen[1], 1);
  EXPECT_EQ(fake::cuMemFreeHost(pinned), CUDA_SUCCESS);
}

/// A stream that waits for an event sees what was done before it, one that
/// does not sees what happens to be there.
TEST_F(CudaFake, streams_that_wait_for_each_other) {
  CUstream second;
  CUevent event;
  ASSERT_EQ(fake::cuStreamCreate(&second, CU_STREAM_NON_BLOCKING),
            CUDA_SUCCESS);
  ASSERT_EQ(fake::cuEventCreate(&event, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
  for (bool waits : {false, true}) {
    unsigned char value = waits ? 2 : 1;
    ASSERT_EQ(fake::cuMemsetD8Async(memory, value, 64, second), CUDA_SUCCESS);
    ASSERT_EQ(fake::cuEventRecord(event, second), CUDA_SUCCESS);
    if (waits)
      ASSERT_EQ(fake::cuStreamWaitEvent(stream, event, 0), CUDA_SUCCESS);
    ASSERT_EQ(fake::cuMemcpyDtoHAsync_v2(host, memory, 1, stream),
              CUDA_SUCCESS);
    ASSERT_EQ(fake::cuStreamSynchronize(stream), CUDA_SUCCESS);
    EXPECT_EQ(host[0], waits ? 2 : char(0xff));
  }
  Cuda::fake().settings.copiesRunAhead = true;
  ASSERT_EQ(fake::cuMemsetD8Async(memory, 3, 64, second), CUDA_SUCCESS);
  EXPECT_EQ(*reinterpret_cast<const char *>(memory), 3);
  ASSERT_EQ(fake::cuMemsetD8Async(memory, 4, 64, stream), CUDA_SUCCESS);
  EXPECT_EQ(*reinterpret_cast<const char *>(memory), 3);
  EXPECT_EQ(fake::cuStreamSynchronize(stream), CUDA_SUCCESS);
  EXPECT_EQ(fake::cuEventDestroy_v2(event), CUDA_SUCCESS);
  EXPECT_EQ(fake::cuStreamDestroy_v2(second), CUDA_SUCCESS);
}

TEST_F(CudaFake, a_time_that_has_not_passed) {
  CUevent begin, end;
  ASSERT_EQ(fake::cuEventCreate(&begin, CU_EVENT_DEFAULT), CUDA_SUCCESS);
  ASSERT_EQ(fake::cuEventCreate(&end, CU_EVENT_DEFAULT), CUDA_SUCCESS);
  ASSERT_EQ(fake::cuEventRecord(begin, stream), CUDA_SUCCESS);
  ASSERT_EQ(fake::cuEventRecord(end, stream), CUDA_SUCCESS);
  float milliseconds;
  EXPECT_NE(fake::cuEventElapsedTime(&milliseconds, begin, end), CUDA_SUCCESS);
  ASSERT_EQ(fake::cuEventSynchronize(end), CUDA_SUCCESS);
  EXPECT_EQ(fake::cuEventElapsedTime(&milliseconds, begin, end), CUDA_SUCCESS);
  EXPECT_EQ(fake::cuEventDestroy_v2(begin), CUDA_SUCCESS);
  EXPECT_EQ(fake::cuEventDestroy_v2(end), CUDA_SUCCESS);
}

/// An event that a graph records has the time of the latest run of the graph.
TEST_F(CudaFake, a_graph_records_an_event_anew) {
  CUevent begin, end;
  ASSERT_EQ(fake::cuEventCreate(&begin, CU_EVENT_DEFAULT), CUDA_SUCCESS);
  ASSERT_EQ(fake::cuEventCreate(&end, CU_EVENT_DEFAULT), CUDA_SUCCESS);
  EXPECT_EQ(
      fake::cuEventRecordWithFlags(begin, stream, CU_EVENT_RECORD_EXTERNAL),
      CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(mistake(), "an external record outside of a capture");
  double worked = 0.5;
  ASSERT_EQ(fake::cuStreamBeginCapture_v2(stream, 1), CUDA_SUCCESS);
  EXPECT_EQ(fake::cuEventRecordWithFlags(begin, stream, 2),
            CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(
      fake::cuEventRecordWithFlags(begin, stream, CU_EVENT_RECORD_EXTERNAL),
      CUDA_SUCCESS);
  ASSERT_EQ(fake::enqueue(stream,
                          [&] {
                            Cuda::fake().milliseconds += worked;
                            return CUresult(CUDA_SUCCESS);
                          }),
            CUDA_SUCCESS);
  ASSERT_EQ(fake::cuEventRecordWithFlags(end, stream, CU_EVENT_RECORD_EXTERNAL),
            CUDA_SUCCESS);
  CUgraph graph;
  CUgraphExec executable;
  ASSERT_EQ(fake::cuStreamEndCapture(stream, &graph), CUDA_SUCCESS);
  ASSERT_EQ(fake::cuGraphInstantiateWithFlags(&executable, graph, 0),
            CUDA_SUCCESS);
  EXPECT_EQ(fake::cuGraphDestroy(graph), CUDA_SUCCESS);
  float milliseconds;
  EXPECT_NE(fake::cuEventElapsedTime(&milliseconds, begin, end), CUDA_SUCCESS);
  for (double each : {0.5, 2.0}) {
    worked = each;
    ASSERT_EQ(fake::cuGraphLaunch(executable, stream), CUDA_SUCCESS);
    ASSERT_EQ(fake::cuStreamSynchronize(stream), CUDA_SUCCESS);
    ASSERT_EQ(fake::cuEventElapsedTime(&milliseconds, begin, end),
              CUDA_SUCCESS);
    EXPECT_FLOAT_EQ(milliseconds, each + 0.001); // the node of `begin`
  }
  EXPECT_EQ(fake::cuEventDestroy_v2(begin), CUDA_SUCCESS);
  ASSERT_EQ(fake::cuGraphLaunch(executable, stream), CUDA_SUCCESS);
  EXPECT_EQ(fake::cuStreamSynchronize(stream), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(mistake(), "a graph that records a destroyed event");
  EXPECT_EQ(fake::cuEventDestroy_v2(end), CUDA_SUCCESS);
  EXPECT_EQ(fake::cuGraphExecDestroy(executable), CUDA_SUCCESS);
}

/// After one failure everything fails, as in a context that is lost.
TEST_F(CudaFake, a_failure_stays) {
  ASSERT_EQ(fake::enqueue(stream, [] { return int(CUDA_ERROR_LAUNCH_FAILED); }),
            CUDA_SUCCESS);
  EXPECT_EQ(fake::cuStreamSynchronize(stream), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_EQ(fake::cuMemsetD8Async(memory, 0, 8, stream),
            CUDA_ERROR_LAUNCH_FAILED);
}

} // namespace
