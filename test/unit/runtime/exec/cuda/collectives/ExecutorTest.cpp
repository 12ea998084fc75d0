//===- ExecutorTest.cpp - Collectives of programs on GPUs -----------------===//
//
// Every kind, launch by launch, recorded and replayed, against the transport of
// ranks on CPUs. Both make sums in the order of the ranks: no tolerance.
//
//===----------------------------------------------------------------------===//

#include "exec/cuda/products/Matmul.h"
#include "support/NcclFixture.h"
#include "support/RankStep.h"
#include "train/MakeExecutor.h"

#include <cstring>
#include <random>

using namespace honert;
using test::RankStep;

namespace {

using Describe = std::function<void(RankStep &)>;

/// Bytes of which floats of any width are normal numbers: threads of the CPU
/// take denormal ones for zero.
std::string draw(int64_t bytes, int64_t seed) {
  std::mt19937_64 random{uint64_t(seed)};
  std::string drawn(size_t(bytes), '\0');
  for (char &byte : drawn)
    byte = char(0x10 + random() % 0x30);
  return drawn;
}

class NcclExecutor : public test::Nccl {
protected:
  /// The arenas of all ranks after each of three steps.
  std::vector<std::string> run(const std::vector<int64_t> &mesh,
                               const Describe &describe, bool onDevice) {
    int64_t ranks = 1;
    for (int64_t size : mesh)
      ranks *= size;
    std::vector<std::string> results(size_t(3 * ranks), "");
    onAll(ranks, [&](ProcessGroup &world) {
      RankStep step(mesh);
      describe(step);
      const Program &program = step.finish(onDevice);
      ThreadPool pool(1);
      auto executor = makeExecutor(program, pool, deterministic, &world);
      HONERT_TRY(executor->start());
      std::vector<FunctionTimes> times;
      if (isRecorded)
        executor->record(&times);
      for (int64_t run = 0; run != 3; ++run) {
        std::string drawn = draw(program.arenaBytes, 100 * run + world.rank());
        std::memcpy(executor->arena().at(0), drawn.data(), drawn.size());
        HONERT_TRY(executor->publish(0, program.arenaBytes));
        HONERT_TRY(executor->run(program.functions[0]));
        HONERT_TRY(executor->wait());
        HONERT_TRY(executor->fetch(0, program.arenaBytes));
        results[size_t(3 * world.rank() + run)].assign(
            executor->arena().at(0), size_t(program.arenaBytes));
      }
      if (isRecorded && onDevice) {
        checkTimes(times);
        if (world.rank() == 0)
          latest = times.back().launches;
      }
      return Status();
    });
    return results;
  }
  void check(const std::vector<int64_t> &mesh, const Describe &describe) {
    std::vector<std::string> expected = run(mesh, describe, false);
    for (bool early : {false, true}) {
      settings.copiesRunAhead = early;
      std::vector<std::string> seen = run(mesh, describe, true);
      for (size_t i = 0; i != expected.size(); ++i)
        EXPECT_TRUE(seen[i] == expected[i])
            << "rank " << i / 3 << ", run " << i % 3 << ", early " << early
            << ": other bytes from offset "
            << std::mismatch(seen[i].begin(), seen[i].end(),
                             expected[i].begin())
                       .first -
                   seen[i].begin();
    }
  }

  /// The first run is made launch by launch; the others are graphs, in which
  /// each launch lies.
  static void checkTimes(const std::vector<FunctionTimes> &times) {
    ASSERT_EQ(times.size(), 3u);
    for (size_t run = 0; run != 3; ++run) {
      EXPECT_EQ(times[run].isGraph, run > 0);
      EXPECT_EQ(times[run].launches.size(),
                times[run].function->launches.size());
      for (const LaunchTime &time : times[run].launches) {
        EXPECT_LE(times[run].begin, time.begin);
        EXPECT_LE(time.begin, time.end);
        EXPECT_LE(time.end, times[run].end);
      }
    }
  }

  bool deterministic = false, isRecorded = false;
  std::vector<LaunchTime> latest; ///< of the first rank's last run, if recorded
};

constexpr CollectiveKind kinds[] = {
    CollectiveKind::allReduce, CollectiveKind::allGather,
    CollectiveKind::reduceScatter, CollectiveKind::allToAll,
    CollectiveKind::shift};

TEST_F(NcclExecutor, every_kind_of_every_type) {
  check({3, 2}, [](RankStep &step) {
    for (CollectiveKind kind : kinds)
      for (int64_t type = 0; type != countOf<DType>; ++type)
        if (byteWidth(DType(type)) > 1 || kind == CollectiveKind::allGather ||
            kind == CollectiveKind::allToAll || kind == CollectiveKind::shift)
          step.collective(kind, DType(type), 30, {0});
  });
}

TEST_F(NcclExecutor, every_group_of_ranks) {
  check({2, 1, 2}, [](RankStep &step) {
    for (const Axes &axes : {Axes{}, Axes{0}, Axes{1}, Axes{2}, Axes{0, 2},
                             Axes{2, 0}, Axes{0, 1, 2}})
      for (CollectiveKind kind : kinds)
        step.collective(kind, DType::f32, 12, axes);
  });
  // ProcessGroup, a, c and [c, a]; [a, c] and [a, b, c] are the world.
  EXPECT_EQ(calls("ncclCommInitRankConfig"), 4);
  EXPECT_EQ(calls("ncclCommSplit"), 3 * 4);
}

TEST_F(NcclExecutor, maxima_and_minima) {
  check({4}, [](RankStep &step) {
    for (ReduceKind reduce : {ReduceKind::max, ReduceKind::min})
      for (CollectiveKind kind :
           {CollectiveKind::allReduce, CollectiveKind::reduceScatter})
        step.collective(kind, DType::f32, 200, {0}, -1, reduce);
  });
}

TEST_F(NcclExecutor, shifts_go_around) {
  check({4}, [](RankStep &step) {
    for (int64_t amount = 0; amount != 4; ++amount)
      step.collective(CollectiveKind::shift, DType::i8, 7, {0}, -1,
                      ReduceKind::sum, amount);
  });
}

TEST_F(NcclExecutor, streams_of_collectives_have_the_highest_priority) {
  check({2, 2}, [](RankStep &step) {
    for (const Axes &axes : {Axes{0}, Axes{1}})
      step.collective(CollectiveKind::allReduce, DType::f32, 12, axes);
  });
  // The main stream, the one that copies, one per list of axes, and the one
  // that tells what is done.
  EXPECT_EQ(rank(0).streamPriorities, (std::vector<int>{0, 0, -5, -5, 0}));
}

/// What a collective has done is told beside the path: for no copy to the host
/// waits anything but the next such copy.
TEST_F(NcclExecutor, nothing_waits_for_a_watchdog) {
  run(
      {2},
      [](RankStep &step) {
        step.collective(CollectiveKind::allReduce, DType::f32, 8, {0});
        step.collective(CollectiveKind::allGather, DType::f32, 8, {0}, 1);
        step.collective(CollectiveKind::allToAll, DType::f32, 8, {0}, 2);
        step.wait(1);
        step.coordinate({0});
        step.wait(2);
      },
      true);
  auto isCopy = [](const fake::RecordedNode &node) {
    return node.call == "cuMemcpyDtoHAsync_v2";
  };
  const std::vector<fake::RecordedNode> &nodes = rank(0).recorded;
  EXPECT_EQ(std::count_if(nodes.begin(), nodes.end(), isCopy), 3);
  for (const fake::RecordedNode &node : nodes)
    for (size_t before : node.after)
      EXPECT_TRUE(isCopy(node) || !isCopy(nodes[before]))
          << node.call << " waits for " << nodes[before].call;
}

// Longer than what the fake moves at once: 256 KiB.
TEST_F(NcclExecutor, large_blocks) {
  check({2}, [](RankStep &step) {
    for (CollectiveKind kind : kinds)
      step.collective(kind, DType::f32, 100002, {0});
  });
}

TEST_F(NcclExecutor, of_nothing) {
  check({2}, [](RankStep &step) {
    for (CollectiveKind kind : kinds)
      step.collective(kind, DType::f32, 0, {0});
  });
}

TEST_F(NcclExecutor, several_under_way_at_once) {
  check({2, 2}, [](RankStep &step) {
    step.collective(CollectiveKind::allReduce, DType::f32, 64, {0}, 7);
    step.collective(CollectiveKind::allGather, DType::bf16, 64, {1}, 2);
    step.collective(CollectiveKind::allToAll, DType::f32, 64, {0, 1}, 3);
    step.wait(2);
    step.collective(CollectiveKind::reduceScatter, DType::f32, 64, {0}, 4);
    step.collective(CollectiveKind::allReduce, DType::f32, 64, {});
    step.collective(CollectiveKind::allReduce, DType::f32, 8, {}, 5);
    for (int64_t token : {5, 3, 7, 4})
      step.wait(token);
  });
}

/// Events on the streams of collectives that others run beside.
TEST_F(NcclExecutor, recorded_runs) {
  isRecorded = true;
  check({2, 2}, [](RankStep &step) {
    step.collective(CollectiveKind::allReduce, DType::f32, 64, {0}, 7);
    step.collective(CollectiveKind::allGather, DType::bf16, 64, {1}, 2);
    step.collective(CollectiveKind::allReduce, DType::f32, 64, {0});
    for (int64_t token : {2, 7})
      step.wait(token);
    step.coordinate({0});
  });
}

/// The fake runs what is not on the main stream as late as it may.
TEST_F(NcclExecutor, a_collective_is_timed_on_its_stream) {
  isRecorded = true;
  run(
      {2},
      [](RankStep &step) {
        step.collective(CollectiveKind::allReduce, DType::f32, 64, {0}, 7);
        step.coordinate({0});
        step.wait(7);
      },
      true);
  ASSERT_EQ(latest.size(), 3u);
  const LaunchTime &collective = latest[0], &coordinate = latest[1],
                   &wait = latest[2];
  EXPECT_GE(collective.begin, coordinate.end);
  EXPECT_LE(collective.end, wait.end);
}

TEST_F(NcclExecutor, own_parts_and_numbers) {
  check({2, 3}, [](RankStep &step) {
    for (const Axes &axes : {Axes{}, Axes{0}, Axes{1}, Axes{1, 0}}) {
      step.coordinate(axes);
      step.shard(axes, 5, 12);
      step.shard(axes, 1, 64);
      step.shard(axes, 3, 0);
    }
  });
  EXPECT_EQ(calls("ncclGetVersion"), 0); // nothing is sent
}

/// What a program of one rank needs of NCCL: nothing.
TEST_F(NcclExecutor, groups_of_one_rank_open_no_library) {
  settings.missing = {"libnccl.so.2"};
  check({1}, [](RankStep &step) {
    step.collective(CollectiveKind::allReduce, DType::f32, 8, {0});
    step.collective(CollectiveKind::shift, DType::i64, 8, {0}, 1);
    step.wait(1);
  });
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

void oneSum(RankStep &step) {
  step.collective(CollectiveKind::allReduce, DType::f32, 8, {0});
  step.collective(CollectiveKind::allReduce, DType::f32, 8, {0, 1});
}

TEST_F(NcclExecutor, the_arena_is_registered_once_per_group) {
  run({2, 2}, oneSum, true);
  EXPECT_EQ(calls("ncclCommRegister"), 2 * 4);
  EXPECT_EQ(calls("ncclCommDeregister"), 2 * 4);
  EXPECT_EQ(calls("ncclCommWindowRegister"), 0);
}

TEST_F(NcclExecutor, the_arena_may_be_a_window) {
  setenv("HONE_NCCL_REGISTRATION", "window", 1);
  check({2, 2}, oneSum);
  EXPECT_EQ(calls("ncclCommWindowRegister"), 2 * 4);
  EXPECT_EQ(calls("ncclCommRegister"), 0);
}

TEST_F(NcclExecutor, the_arena_may_be_nothing_special) {
  setenv("HONE_NCCL_REGISTRATION", "none", 1);
  check({2, 2}, oneSum);
  EXPECT_EQ(calls("ncclCommRegister"), 0);
}

TEST_F(NcclExecutor, a_library_without_windows_has_buffers) {
  setenv("HONE_NCCL_REGISTRATION", "window", 1);
  settings.missing = {"ncclCommWindowRegister"};
  check({2, 2}, oneSum);
  EXPECT_EQ(calls("ncclCommRegister"), 2 * 4);
}

TEST_F(NcclExecutor, equal_bits_need_no_windows) {
  setenv("HONE_NCCL_REGISTRATION", "window", 1);
  for (const char *variable :
       {"NCCL_ALGO", "NCCL_PROTO", "NCCL_NVLS_ENABLE", "NCCL_COLLNET_ENABLE"})
    setenv(variable, "x", 1); // as a user who knows better
  deterministic = true;
  check({2, 2}, oneSum);
  EXPECT_EQ(calls("ncclCommRegister"), 2 * 4);
  EXPECT_STREQ(std::getenv("NCCL_ALGO"), "x");
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

/// Each rank measures for itself. What is computed by all would part if they
/// rounded sums differently; a cache is read by the next run of either.
TEST_F(NcclExecutor, ranks_multiply_by_the_first_ones_algorithm) {
  settings.algorithmTimes = {1, 1, 1};
  for (bool isMeasured : {true, false}) {
    std::vector<int> latest(3);
    onAll(3, [&](ProcessGroup &world) {
      auto own = static_cast<int>(world.rank());
      fake::state().settings.timeOf = [&latest,
                                       own](const fake::ProductRun &run) {
        latest[size_t(own)] = run.algorithm;
        return run.algorithm == 3 - own ? 1.0 : 2.0;
      };
      RankStep step({3});
      step.matmul(16);
      const Program &program = step.finish(/*onDevice=*/true);
      ThreadPool pool(1);
      auto executor = makeExecutor(program, pool, deterministic, &world);
      HONERT_TRY(executor->start());
      HONERT_TRY(executor->run(program.functions[0]));
      return executor->wait();
    });
    EXPECT_EQ(latest, (std::vector<int>{3, 3, 3}));
    EXPECT_EQ(calls("cublasLtMatmulAlgoGetHeuristic"), isMeasured ? 3 : 0);
  }
}

/// Stages have products of their own. What each has measured is in the file,
/// whichever rank writes it last.
TEST_F(NcclExecutor, ranks_keep_the_algorithms_of_all_stages) {
  settings.algorithmTimes = {2, 1};
  onAll(2, [&](ProcessGroup &world) {
    int64_t n = 16 * (world.rank() + 1);
    MatmulLaunch launch{1, n, n, n, {}, 0, 4 * n * n, 8 * n * n, -1, -1};
    launch.strides = {0, n, 1, 0, n, 1, 0, n, 1, 0, n, 1};
    Device device;
    HONERT_TRY(device.open());
    HONERT_TRY(device.choose());
    HONERT_TRY(device.start());
    DeviceMemory arena;
    HONERT_TRY(arena.allocate(device, 12 * n * n, "the arena"));
    MatmulWorkspace workspace;
    workspace.add(launch);
    MatmulLaunches matmuls(device, {});
    HONERT_TRY(matmuls.start(workspace));
    MatmulCalls calls;
    HONERT_TRY(matmuls.prepare("fc", launch, 0, arena, calls));
    HONERT_TRY(matmuls.agree(world, {0, 1}));
    if (world.rank() == 1)
      matmuls.finish();
    return Status();
  });
  std::string text = test::readFile(folder / "cache/hone/matmul-algorithms");
  EXPECT_NE(text.find("f32 16x16"), std::string::npos) << text;
  EXPECT_NE(text.find("f32 32x32"), std::string::npos) << text;
}

/// Of a run of one sum on two ranks.
class NcclErrors : public NcclExecutor {
protected:
  std::vector<std::string> errors(const test::Nccl::Body &before = {}) {
    std::vector<std::string> lines;
    for (const Status &status : onRanks(2, [&](ProcessGroup &world) {
           if (before)
             HONERT_TRY(before(world));
           RankStep step({2, 1});
           oneSum(step);
           const Program &program = step.finish(true);
           ThreadPool pool(1);
           auto executor = makeExecutor(program, pool, false, &world);
           HONERT_TRY(executor->start());
           for (int run = 0; run != 3; ++run) {
             HONERT_TRY(executor->run(program.functions[0]));
             HONERT_TRY(executor->wait());
           }
           return Status();
         }))
      lines.push_back(status.message());
    return lines;
  }
  using Lines = std::vector<std::string>;
};

TEST_F(NcclErrors, no_library) {
  settings.missing = {"libnccl.so.2"};
  std::string line =
      "libnccl.so.2: cannot be opened (no such library); a program of several "
      "ranks on GPUs needs NCCL 2.27 or later (is its folder in "
      "LD_LIBRARY_PATH?)";
  EXPECT_EQ(errors(), (Lines{line, line}));
}

TEST_F(NcclErrors, an_old_library) {
  settings.ncclVersion = 22203;
  std::string line = "libnccl.so.2: is NCCL 2.22.3, expected 2.27 or later";
  EXPECT_EQ(errors(), (Lines{line, line}));
}

TEST_F(NcclErrors, a_library_without_a_function) {
  settings.missing = {"ncclCommSplit"};
  std::string line =
      "libnccl.so.2: has no ncclCommSplit; expected NCCL 2.27 or later";
  EXPECT_EQ(errors(), (Lines{line, line}));
}

TEST_F(NcclErrors, another_word_for_registration) {
  setenv("HONE_NCCL_REGISTRATION", "yes", 1);
  std::string line =
      "HONE_NCCL_REGISTRATION: 'yes', expected none, buffer or window";
  EXPECT_EQ(errors(), (Lines{line, line}));
}

/// The other rank does not wait for it.
TEST_F(NcclErrors, a_rank_without_memory) {
  EXPECT_EQ(errors([](ProcessGroup &world) {
              if (world.rank() == 1)
                fake::state().settings.memoryBytes = 64;
              return Status();
            }),
            (Lines{"rank 1 has failed",
                   "the arena needs 320 B; GPU emulated GPU has 64 B free of "
                   "64 B; compile with a smaller --memory-budget, which honec "
                   "--dry-run --device=NAME finds"}));
}

/// Whichever of its memory it is: the other rank does not wait in NCCL.
TEST_F(NcclErrors, a_rank_without_memory_of_the_host) {
  onAll(2, [](ProcessGroup &world) {
    RankStep step({2, 1});
    oneSum(step);
    const Program &program = step.finish(true);
    ThreadPool pool(1);
    return makeExecutor(program, pool, false, &world)->start();
  });
  int count = calls("cuMemAllocHost_v2") / 2;
  EXPECT_GT(count, 0);
  for (int number = 1; number <= count; ++number) {
    std::vector<std::string> lines = errors([&](ProcessGroup &world) {
      if (world.rank() == 1)
        fake::state().failCall("cuMemAllocHost_v2", number,
                               CUDA_ERROR_OUT_OF_MEMORY);
      return Status();
    });
    EXPECT_EQ(lines[0], "rank 1 has failed");
    EXPECT_NE(lines[1], "");
  }
}

TEST_F(NcclErrors, ranks_that_register_differently) {
  setenv("HONE_NCCL_REGISTRATION", "window", 1);
  std::string line =
      "rank 1 has HONE_NCCL_REGISTRATION (as its NCCL can) "
      "buffer, rank 0 has window; expected the same on all ranks";
  EXPECT_EQ(errors([](ProcessGroup &world) {
              if (world.rank() == 1)
                fake::state().settings.missing = {"ncclCommWindowRegister"};
              return Status();
            }),
            (Lines{line, line}));
}

TEST_F(NcclErrors, fewer_gpus_than_ranks) {
  settings.ncclPolls = 1;
  EXPECT_EQ(errors([](ProcessGroup &) {
              fake::state().settings.devices = 0;
              return Status();
            })[0],
            "libcuda.so.1: the driver sees no GPU, expected one (is "
            "CUDA_VISIBLE_DEVICES set?)");
}

TEST_F(NcclErrors, a_rank_that_never_joins) {
  timeout = 0.3;
  expectsMistakes = true;
  std::vector<std::string> lines = errors([](ProcessGroup &world) {
    if (world.rank() == 1)
      fake::state().failCall("ncclCommInitRankConfig", 1, ncclSystemError);
    return Status();
  });
  EXPECT_EQ(lines[0], "rank 0 cannot join the 2 ranks: waited 0 s for the "
                      "others, expected at most 0.3 s (--comm-timeout)");
  EXPECT_EQ(lines[1], "rank 1 cannot join the 2 ranks: NCCL: unhandled system "
                      "error");
}

TEST_F(NcclErrors, a_collective_that_is_refused_names_its_line) {
  expectsMistakes = leavesThings = true;
  std::vector<std::string> lines = errors([](ProcessGroup &) {
    fake::state().failCall("ncclAllReduce", 2, ncclInternalError);
    return Status();
  });
  for (const std::string &line : lines)
    EXPECT_EQ(line, "launch all at m.py:3: NCCL: internal error");
}

} // namespace
