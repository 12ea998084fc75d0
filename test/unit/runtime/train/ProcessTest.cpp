//===- ProcessTest.cpp - What a process meets: memory, CPU, files ---------===//

#include "base/Files.h"
#include "base/MappedRanges.h"
#include "base/Signals.h"
#include "exec/cpu/Features.h"
#include "support/Describe.h"
#include "support/Run.h"
#include "train/MemoryLimits.h"
#include "train/ThreadLimits.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <sys/resource.h>
#include <unistd.h>

using namespace honert;

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

namespace {
constexpr int64_t MiB = 1 << 20;

/// Files of a system below a folder.
class System {
public:
  System() { write("/proc/meminfo", meminfo); }

  void write(const std::string &name, const std::string &text) {
    std::string path = root.path + name;
    std::filesystem::create_directories(folderOf(path));
    test::writeFile(path, text);
  }
  /// "" if `bytes` fit, else the error.
  std::string check(int64_t bytes, int64_t processes = 1) {
    warning.clear();
    MemoryNeed need = {bytes, 0, processes};
    return checkMemory(findMemoryLimits(root.path), need, warning).message();
  }

  test::Folder root;
  std::string warning;
  static constexpr const char *meminfo = "MemTotal:       8388608 kB\n"
                                         "MemFree:         524288 kB\n"
                                         "MemAvailable:   4194304 kB\n"
                                         "SwapFree:              0 kB\n";
};

/// Version 2, as in a container: the own group is a folder below the mount's.
class Version2 : public System {
public:
  Version2() {
    write("/proc/self/cgroup", "0::/docker/x/job\n");
    write(
        "/proc/self/mountinfo",
        "30 23 0:26 /docker/x /sys/fs/cgroup rw,nosuid - cgroup2 cgroup rw\n");
    write("/sys/fs/cgroup/memory.max", "max\n");
    write("/sys/fs/cgroup/job/memory.max", "1073741824\n");
    write("/sys/fs/cgroup/job/memory.current", "536870912\n");
    write("/sys/fs/cgroup/job/memory.high", "max\n");
    write("/sys/fs/cgroup/job/memory.swap.max", "0\n");
    write("/sys/fs/cgroup/job/memory.stat",
          "anon 268435456\ninactive_file 134217728\nactive_file 134217728\n");
  }
};
} // namespace

static void expectHas(const std::string &text, const std::string &part) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

TEST(MemoryLimits, of_the_machine) {
  System system;
  EXPECT_EQ(system.check(4096 * MiB), "");
  EXPECT_EQ(system.warning, "");
  EXPECT_EQ(system.check(4097 * MiB), "");
  expectHas(system.warning, "needs 4.00 GiB of memory; this machine has free "
                            "4.00 GiB: it may be slow");
  expectHas(system.check(8193 * MiB), "this machine has 8.00 GiB; raise");
  expectHas(system.check(3000 * MiB, 4),
            "needs 2.93 GiB of memory for each of 4 processes");
  expectHas(system.check(INT64_MAX / 2, 4), "this machine has 8.00 GiB");
}

TEST(MemoryLimits, of_a_group_of_version_2) {
  Version2 system;
  // Of 1 GiB, half is in use, and half of that are files.
  EXPECT_EQ(system.check(768 * MiB), "");
  expectHas(system.check(769 * MiB),
            "/sys/fs/cgroup/job/memory.max (1.00 GiB) leaves 768.00 MiB");
  system.write("/sys/fs/cgroup/job/memory.high", "805306368\n");
  EXPECT_EQ(system.check(513 * MiB), "");
  expectHas(system.warning, "job/memory.high (768.00 MiB) leaves 512.00 MiB");
}

TEST(MemoryLimits, of_the_groups_above) {
  Version2 system;
  system.write("/sys/fs/cgroup/memory.max", "268435456\n");
  expectHas(system.check(257 * MiB),
            "/sys/fs/cgroup/memory.max (256.00 MiB) leaves 256.00 MiB");
}

TEST(MemoryLimits, swap_counts_for_a_group) {
  Version2 system;
  system.write("/proc/meminfo", "MemTotal: 8388608 kB\nSwapFree: 262144 kB\n");
  system.write("/sys/fs/cgroup/job/memory.swap.max", "max\n");
  EXPECT_EQ(system.check(1024 * MiB), "");
  expectHas(system.check(1025 * MiB), "leaves 1.00 GiB");
}

TEST(MemoryLimits, of_a_group_of_version_1) {
  System system;
  system.write("/proc/self/cgroup", "5:cpu,cpuacct:/a\n4:memory:/a\n0::/\n");
  system.write("/proc/self/mountinfo",
               "33 31 0:31 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
               "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup "
               "rw,memory\n");
  system.write("/sys/fs/cgroup/memory/memory.limit_in_bytes",
               "9223372036854771712\n");
  system.write("/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "1073741824\n");
  system.write("/sys/fs/cgroup/memory/a/memory.usage_in_bytes", "1073741824\n");
  system.write("/sys/fs/cgroup/memory/a/memory.stat",
               "total_inactive_file 536870912\ntotal_active_file 0\n");
  EXPECT_EQ(system.check(512 * MiB), "");
  expectHas(system.check(513 * MiB),
            "memory/a/memory.limit_in_bytes (1.00 GiB) leaves 512.00 MiB");
}

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define HAS_SANITIZER
#endif
#endif
#ifdef HAS_SANITIZER
constexpr bool isSanitized = true;
#else
constexpr bool isSanitized = false;
#endif

TEST(MemoryLimits, of_addresses) {
  if (isSanitized)
    GTEST_SKIP() << "a sanitizer takes more addresses than the test leaves";
  // In a process of its own: limits do not come back.
  auto child = [] {
    rlimit limit = {};
    getrlimit(RLIMIT_AS, &limit);
    limit.rlim_cur = rlim_t{1} << 30;
    setrlimit(RLIMIT_AS, &limit);
    std::string warning;
    MemoryLimits limits = findMemoryLimits();
    Status fits = checkMemory(limits, {MiB, MiB, 1}, warning);
    Status refused = checkMemory(limits, {MiB, 1024 * MiB, 1}, warning);
    std::fputs(refused.message().c_str(), stderr);
    _exit(fits.ok() ? refused.exitCode() : 9);
  };
  EXPECT_EXIT(child(), testing::ExitedWithCode(1),
              "needs 1.00 GiB of addresses, .*; ulimit -v leaves ");
}

TEST(MemoryLimits, mapped_files_are_no_data) {
  if (isSanitized)
    GTEST_SKIP() << "a sanitizer takes more addresses than the test leaves";
  auto child = [] {
    rlimit limit = {};
    getrlimit(RLIMIT_DATA, &limit);
    limit.rlim_cur = rlim_t{1} << 30;
    setrlimit(RLIMIT_DATA, &limit);
    std::string warning;
    MemoryLimits limits = findMemoryLimits();
    Status fits = checkMemory(limits, {MiB, MiB, 1, 4096 * MiB}, warning);
    Status refused = checkMemory(limits, {MiB, 1024 * MiB, 1, 0}, warning);
    std::fputs(refused.message().c_str(), stderr);
    _exit(fits.ok() ? refused.exitCode() : 9);
  };
  EXPECT_EXIT(child(), testing::ExitedWithCode(1),
              "needs 1.00 GiB of addresses, .*; ulimit -d leaves ");
}

TEST(ThreadLimits, threads_that_do_not_start_are_counted) {
  EXPECT_TRUE(checkThreads(4, 2).ok());
  if (isSanitized)
    GTEST_SKIP() << "a sanitizer takes more addresses than the test leaves";
  auto child = [] {
    rlimit limit = {};
    getrlimit(RLIMIT_AS, &limit);
    limit.rlim_cur = rlim_t{1} << 30;
    setrlimit(RLIMIT_AS, &limit);
    Status refused = checkThreads(1000, 2);
    std::fputs(refused.message().c_str(), stderr);
    _exit(refused.exitCode());
  };
  EXPECT_EXIT(child(), testing::ExitedWithCode(1),
              "--threads: 1000 threads and 2 helpers cannot be started: .*; "
              "--threads=[0-9]+ can");
}

//===----------------------------------------------------------------------===//
// CPU
//===----------------------------------------------------------------------===//

TEST(CpuFeatures, what_is_missing_is_named) {
  test::ProgramPtr program = test::makeProgram();
  EXPECT_TRUE(checkCpu(*program).ok());
  honert_meta(program.get(), "cpu", "znver4");
  honert_meta(program.get(), "cpu_features",
              "sse3 ssse3 sse4.1 sse4.2 popcnt cx16 avx avx2 bmi bmi2 f16c fma "
              "lzcnt movbe avx512f avx512bf16");
  auto lacks = [](std::vector<std::string> names) {
    return [names](const std::string &name) {
      return std::find(names.begin(), names.end(), name) == names.end();
    };
  };
  EXPECT_TRUE(checkCpu(*program, lacks({"xop"})).ok());
  EXPECT_EQ(checkCpu(*program, lacks({"avx512f", "avx512bf16"})).message(),
            "this program was compiled for znver4 and needs avx512f, "
            "avx512bf16, which this CPU does not have; compile with "
            "--arch=x86-64-v3");
  expectHas(checkCpu(*program, lacks({"avx512bf16"})).message(),
            "--arch=x86-64-v4");
  expectHas(checkCpu(*program, [](auto &) { return false; }).message(),
            "needs sse3, ssse3, sse4.1, sse4.2 and 12 more");
}

TEST(CpuFeatures, this_cpu_is_like_the_compiler_says) {
  EXPECT_EQ(hasCpuFeature("sse4.2"), bool(__builtin_cpu_supports("sse4.2")));
  EXPECT_EQ(hasCpuFeature("avx2"), bool(__builtin_cpu_supports("avx2")));
  EXPECT_EQ(hasCpuFeature("bmi2"), bool(__builtin_cpu_supports("bmi2")));
  EXPECT_EQ(hasCpuFeature("fma"), bool(__builtin_cpu_supports("fma")));
  EXPECT_EQ(hasCpuFeature("fma4"), bool(__builtin_cpu_supports("fma4")));
  EXPECT_EQ(hasCpuFeature("xop"), bool(__builtin_cpu_supports("xop")));
  EXPECT_EQ(hasCpuFeature("avx512f"), bool(__builtin_cpu_supports("avx512f")));
  EXPECT_EQ(hasCpuFeature("avx512vbmi2"),
            bool(__builtin_cpu_supports("avx512vbmi2")));
  EXPECT_EQ(hasCpuFeature("avx512bf16"),
            bool(__builtin_cpu_supports("avx512bf16")));
  EXPECT_FALSE(hasCpuFeature("no such feature"));
}

//===----------------------------------------------------------------------===//
// Mapped files
//===----------------------------------------------------------------------===//

TEST(MappedRanges, a_file_that_changes_is_named) {
  test::Folder folder;
  test::writeFile(folder / "a", std::string(5000, 'a'));
  {
    MappedFile file;
    ASSERT_TRUE(file.open(folder / "a").ok());
    EXPECT_TRUE(mapped_ranges::check().ok());
    // Another file of the name is not the one that is mapped.
    test::writeFile(folder / "b", "b");
    std::filesystem::rename(folder / "b", folder / "a");
    EXPECT_TRUE(mapped_ranges::check().ok());
  }
  MappedFile file;
  ASSERT_TRUE(file.open(folder / "a").ok());
  MappedFile moved = std::move(file);
  std::filesystem::resize_file(folder / "a", 7);
  expectHas(mapped_ranges::check().message(),
            "/a: has changed from 1 to 7 bytes while it was in use");
  std::filesystem::resize_file(folder / "a", 1);
  expectHas(mapped_ranges::check().message(),
            "/a: was written to while it was in use");
  moved = MappedFile();
  file = MappedFile();
}

TEST(MappedRanges, a_file_that_is_cut_reads_as_zeros) {
  auto child = [] {
    test::Folder folder;
    reportFatalSignals(-1);
    std::string path = folder / "a";
    test::writeFile(path, std::string(20000, 'a'));
    MappedFile file;
    if (!file.open(path).ok())
      _exit(8);
    std::filesystem::resize_file(path, 4096);
    bool isRight = file.data()[0] == 'a' && file.data()[4095] == 'a' &&
                   file.data()[10000] == 0 && file.data()[19999] == 0;
    std::filesystem::resize_file(path, 20000); // as if nothing had happened
    Status status = mapped_ranges::check();
    std::fputs(status.message().c_str(), stderr);
    std::filesystem::remove_all(folder.path);
    _exit(isRight ? status.exitCode() : 9);
  };
  EXPECT_EXIT(child(), testing::ExitedWithCode(1), "/a: ");
}

TEST(ThreadLimits, a_load_above_the_cores_is_told) {
  EXPECT_EQ(loadNote(2.9, 2, 2), "");
  EXPECT_EQ(loadNote(6.25, 2, 2), "load: 6.2 on 2 cores: other programs slow "
                                  "this run; try fewer --threads than 2");
  EXPECT_FALSE(isBusy(2.9, 2, 2));
  EXPECT_TRUE(isBusy(3, 2, 2));
  // One thread cannot give way.
  EXPECT_EQ(loadNote(6.25, 2, 1),
            "load: 6.2 on 2 cores: other programs slow this run");
  EXPECT_EQ(loadNote(2, 1, 1),
            "load: 2.0 on 1 core: other programs slow this run");
  // Its own threads are no other programs.
  EXPECT_EQ(loadNote(8.5, 2, 8), "");
}

TEST(ThreadLimits, one_thread_in_place_of_several_is_told) {
  EXPECT_EQ(oneThreadNote(2.9, 2, 2), "");
  EXPECT_EQ(oneThreadNote(6.25, 2, 2),
            "load: 6.2 on 2 cores: other programs slow this run; uses 1 "
            "thread; --threads N chooses");
  EXPECT_EQ(oneThreadNote(6.25, 2, 1), ""); // it is what there is
}
