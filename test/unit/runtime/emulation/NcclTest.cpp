//===- NcclTest.cpp - What the fake NCCL notices --------------------------===//
//
// Ranks that do not do the same, and calls that NCCL forbids.
//
//===----------------------------------------------------------------------===//

#include "exec/cuda/collectives/Communicators.h"
#include "exec/cuda/collectives/Probe.h"
#include "exec/cuda/core/Device.h"
#include "support/NcclFixture.h"

using namespace honert;

namespace {

/// A rank with a context, a stream, memory and a communicator of all.
struct Rank {
  NcclFunctions nccl;
  CUcontext context = nullptr;
  CUstream stream = nullptr;
  CUdeviceptr memory = 0;
  std::unique_ptr<Communicator> all;

  Status start(ProcessGroup &world) {
    HONERT_TRY(nccl.open());
    (void)fake::cuInit(0);
    (void)fake::cuDevicePrimaryCtxRetain(&context, 0);
    (void)fake::cuCtxSetCurrent(context);
    (void)fake::cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
    (void)fake::cuMemAlloc_v2(&memory, 256);
    (void)fake::cuMemsetD8Async(memory, 0, 256, stream);
    ncclUniqueId id = {};
    if (world.isFirst())
      (void)nccl.ncclGetUniqueId(&id);
    HONERT_TRY(world.broadcast(&id, sizeof id, 0));
    all = std::make_unique<Communicator>(nccl, 10);
    return all->join({id}, world.size(), world.rank(), "all");
  }
  ~Rank() {
    all.reset();
    (void)fake::cuMemFree_v2(memory);
    (void)fake::cuStreamDestroy_v2(stream);
    (void)fake::cuDevicePrimaryCtxRelease_v2(0);
  }
  void *at(int64_t offset) const {
    return reinterpret_cast<void *>(memory + CUdeviceptr(offset));
  }
  Status sum(size_t count, int type = ncclFloat32, int op = ncclSum) {
    return all->finish(
        nccl.ncclAllReduce(at(0), at(128), count, type, op, all->get(), stream),
        "sum");
  }
  Status gather(size_t count) {
    return all->finish(nccl.ncclAllGather(at(0), at(128), count, ncclFloat32,
                                          all->get(), stream),
                       "gather");
  }
  Status wait() {
    return fake::cuStreamSynchronize(stream) ? Status::error("failed")
                                             : Status();
  }
};

class NcclFake : public test::Nccl {
protected:
  NcclFake() { expectsMistakes = leavesThings = true; }

  /// The first mistake of two ranks, or "".
  std::string mistakeOf(const std::function<Status(Rank &, int64_t)> &body) {
    onRanks(2, [&](ProcessGroup &world) {
      Rank rank;
      HONERT_TRY(rank.start(world));
      Status status = body(rank, world.rank());
      HONERT_TRY(world.barrier()); // none leaves what another looks at
      return status;
    });
    std::vector<std::string> all = mistakes();
    return all.empty() ? "" : all.front();
  }
};

TEST_F(NcclFake, nothing_where_all_do_the_same) {
  EXPECT_EQ(mistakeOf([](Rank &rank, int64_t) {
              HONERT_TRY(rank.sum(4));
              HONERT_TRY(rank.gather(4));
              return rank.wait();
            }),
            "");
}

TEST_F(NcclFake, another_order) {
  EXPECT_EQ(mistakeOf([](Rank &rank, int64_t number) {
              HONERT_TRY(number ? rank.sum(4) : rank.gather(4));
              HONERT_TRY(number ? rank.gather(4) : rank.sum(4));
              return rank.wait();
            }),
            "rank 0 does number 1, all_gather of 4 f32 (operation 0, 0 bytes "
            "registered), rank 1 number 1, all_reduce of 4 f32 (operation 0, 0 "
            "bytes registered)");
}

TEST_F(NcclFake, another_count_type_or_operation) {
  EXPECT_NE(mistakeOf([](Rank &rank, int64_t number) {
              HONERT_TRY(rank.sum(size_t(4 + number)));
              return rank.wait();
            }).find("of 5 f32"),
            std::string::npos);
  EXPECT_NE(mistakeOf([](Rank &rank, int64_t number) {
              HONERT_TRY(rank.sum(4, number ? ncclInt32 : ncclFloat32));
              return rank.wait();
            }).find("of 4 i32"),
            std::string::npos);
  EXPECT_NE(mistakeOf([](Rank &rank, int64_t number) {
              HONERT_TRY(rank.sum(4, ncclFloat32, number ? ncclMax : ncclSum));
              return rank.wait();
            }).find("operation 2"),
            std::string::npos);
}

TEST_F(NcclFake, a_rank_that_records_what_another_does) {
  EXPECT_NE(mistakeOf([](Rank &rank, int64_t number) {
              if (number == 0) {
                HONERT_TRY(rank.sum(4));
                return rank.wait();
              }
              CUgraph graph = nullptr;
              CUgraphExec made = nullptr;
              (void)fake::cuStreamSynchronize(rank.stream);
              (void)fake::cuStreamBeginCapture_v2(rank.stream, 1);
              HONERT_TRY(rank.sum(4));
              (void)fake::cuStreamEndCapture(rank.stream, &graph);
              (void)fake::cuGraphInstantiateWithFlags(&made, graph, 0);
              (void)fake::cuGraphLaunch(made, rank.stream);
              Status status = rank.wait();
              (void)fake::cuGraphExecDestroy(made);
              (void)fake::cuGraphDestroy(graph);
              return status;
            }).find("recorded number 1, all_reduce"),
            std::string::npos);
}

TEST_F(NcclFake, a_rank_that_does_not_come) {
  settings.ncclPatience = 0.3;
  EXPECT_EQ(mistakeOf([](Rank &rank, int64_t number) {
              HONERT_TRY(rank.sum(4));
              return number ? Status() : rank.wait();
            }),
            "rank 1 of a communicator has not come to number 1, all_reduce of "
            "4 f32 (operation 0, 0 bytes registered)");
}

TEST_F(NcclFake, memory_that_one_rank_registers) {
  EXPECT_NE(mistakeOf([](Rank &rank, int64_t number) {
              if (number == 1)
                HONERT_TRY(rank.all->registerMemory(rank.at(0), 256, false));
              HONERT_TRY(rank.sum(4));
              return rank.wait();
            }).find("256 bytes registered"),
            std::string::npos);
}

TEST_F(NcclFake, memory_of_the_host) {
  char host[16] = {};
  EXPECT_EQ(mistakeOf([&](Rank &rank, int64_t) {
              return rank.all->finish(
                  rank.nccl.ncclAllReduce(host, rank.at(0), 4, ncclFloat32,
                                          ncclSum, rank.all->get(),
                                          rank.stream),
                  "sum");
            }),
            "ncclAllReduce of memory that is not the device's");
}

TEST_F(NcclFake, a_split_while_work_goes_on) {
  EXPECT_EQ(mistakeOf([](Rank &rank, int64_t number) {
              Communicator part(rank.nccl, 10);
              HONERT_TRY(rank.sum(4));
              return part.split(*rank.all, 0, number, "part");
            }),
            "a split while work goes on");
}

TEST_F(NcclFake, a_call_while_another_goes_on) {
  EXPECT_EQ(mistakeOf([](Rank &rank, int64_t) {
              for (int i = 0; i != 2; ++i)
                (void)rank.nccl.ncclAllReduce(rank.at(0), rank.at(128), 4,
                                              ncclFloat32, ncclSum,
                                              rank.all->get(), rank.stream);
              return Status();
            }),
            "ncclAllReduce while another call goes on");
}

TEST_F(NcclFake, a_call_after_an_abort) {
  EXPECT_EQ(mistakeOf([](Rank &rank, int64_t) {
              ncclComm_t comm = rank.all->get();
              rank.all->abort();
              (void)rank.nccl.ncclAllReduce(rank.at(0), rank.at(128), 4,
                                            ncclFloat32, ncclSum, comm,
                                            rank.stream);
              return Status();
            }),
            "ncclAllReduce of a communicator that is none");
}

TEST_F(NcclFake, work_that_an_abort_ends) {
  EXPECT_EQ(mistakeOf([](Rank &rank, int64_t) {
              HONERT_TRY(rank.sum(4));
              rank.all->abort();
              return rank.wait();
            }),
            "an operation of a communicator that is no more");
}

TEST_F(NcclFake, a_message_outside_a_group) {
  EXPECT_EQ(mistakeOf([](Rank &rank, int64_t number) {
              (void)rank.nccl.ncclSend(rank.at(0), 4, ncclFloat32,
                                       int(1 - number), rank.all->get(),
                                       rank.stream);
              return Status();
            }),
            "ncclSend outside a group waits for ever");
}

TEST_F(NcclFake, a_message_that_nobody_receives) {
  EXPECT_EQ(mistakeOf([](Rank &rank, int64_t number) {
              (void)rank.nccl.ncclGroupStart();
              (void)rank.nccl.ncclSend(rank.at(0), 4, ncclFloat32,
                                       int(1 - number), rank.all->get(),
                                       rank.stream);
              HONERT_TRY(rank.all->finish(rank.nccl.ncclGroupEnd(), "send"));
              return rank.wait();
            }),
            "rank 1 sends 16 bytes, of which rank 0 receives 0");
}

/// A thousand ranks and more have several ids; here every two have one.
class NcclIds : public test::Nccl {};

TEST_F(NcclIds, of_many_ranks_are_several) {
  onAll(4, [](ProcessGroup &world) {
    Program program;
    program.mesh.axes = {{"a", 2, ""}, {"b", 2, ""}};
    program.functions = {{"step",
                          {{"sum", "",
                            CollectiveLaunch{CollectiveKind::allReduce,
                                             ReduceKind::sum,
                                             0,
                                             DType::f32,
                                             4,
                                             {1},
                                             0,
                                             64,
                                             -1}}},
                          {}}};
    Device device;
    HONERT_TRY(device.open());
    HONERT_TRY(device.choose(world.rank()));
    HONERT_TRY(device.start());
    Communicators communicators(program, false, 10, /*ranksOfId=*/2);
    HONERT_TRY(communicators.open());
    HONERT_TRY(communicators.join(world, nullptr, 0));
    return communicators.close();
  });
  EXPECT_EQ(calls("ncclGetUniqueId"), 2);
  EXPECT_EQ(calls("ncclCommInitRankScalable"), 4);
  EXPECT_EQ(calls("ncclCommSplit"), 4);
}

/// What is to run on hardware makes no mistake here, and leaves nothing.
class NcclProbe : public test::Nccl {};

TEST_F(NcclProbe, works_on_the_fake) {
  onAll(1, [](ProcessGroup &) {
    std::string report;
    HONERT_TRY(probeNccl(report));
    EXPECT_EQ(report.rfind("emulated GPU (sm_999), driver for CUDA 13.0, NCCL "
                           "2.28.9\njoined\nsplit\n",
                           0),
              0u);
    EXPECT_NE(report.find("a graph, replayed\nparted\n"), std::string::npos)
        << report;
    return Status();
  });
}

TEST_F(NcclProbe, says_what_does_not_work) {
  settings.missing = {"libnccl.so.2"};
  onAll(1, [](ProcessGroup &) {
    std::string report;
    EXPECT_NE(
        probeNccl(report).message().find("libnccl.so.2: cannot be opened"),
        std::string::npos);
    return Status();
  });
}

//===----------------------------------------------------------------------===//
// Captures with several streams
//===----------------------------------------------------------------------===//

/// What a fork in a capture forgets, found by the fake driver.
TEST_F(NcclFake, a_capture_that_nobody_joins) {
  EXPECT_EQ(mistakeOf([](Rank &rank, int64_t) {
              CUstream beside = nullptr;
              CUevent event = nullptr;
              CUgraph graph = nullptr;
              (void)fake::cuStreamCreate(&beside, CU_STREAM_NON_BLOCKING);
              (void)fake::cuEventCreate(&event, CU_EVENT_DISABLE_TIMING);
              (void)fake::cuStreamBeginCapture_v2(rank.stream, 1);
              (void)fake::cuEventRecord(event, rank.stream);
              (void)fake::cuStreamWaitEvent(beside, event, 0);
              (void)fake::cuMemsetD8Async(rank.memory, 1, 8, beside);
              (void)fake::cuStreamEndCapture(rank.stream, &graph);
              (void)fake::cuGraphDestroy(graph);
              (void)fake::cuEventDestroy_v2(event);
              (void)fake::cuStreamDestroy_v2(beside);
              return Status();
            }),
            "a capture with work that nobody waits for");
}

TEST_F(NcclFake, work_beside_a_capture) {
  EXPECT_EQ(mistakeOf([](Rank &rank, int64_t) {
              CUstream beside = nullptr;
              CUgraph graph = nullptr;
              (void)fake::cuStreamCreate(&beside, CU_STREAM_NON_BLOCKING);
              (void)fake::cuStreamBeginCapture_v2(rank.stream, 1);
              (void)fake::cuMemsetD8Async(rank.memory, 1, 8, beside);
              (void)fake::cuStreamEndCapture(rank.stream, &graph);
              (void)fake::cuGraphDestroy(graph);
              (void)fake::cuStreamDestroy_v2(beside);
              return Status();
            }),
            "work on a stream outside the capture");
}

} // namespace
