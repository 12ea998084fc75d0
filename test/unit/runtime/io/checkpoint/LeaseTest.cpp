//===- LeaseTest.cpp - One run at a time writes a folder ------------------===//

#include "comm/host/SingleProcess.h"
#include "io/checkpoint/Folder.h"
#include "support/Describe.h"
#include "support/Run.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>

using namespace honert;
using namespace std::chrono_literals;

namespace {

/// The lock file of a run of another host, or of this one.
std::string holder(const std::string &boot, const std::string &processes,
                   uint64_t pid, uint64_t started) {
  return format("{\"run\":\"0123456789abcdef\",\"host\":\"far\",\"boot\":"
                "\"%s\",\"processes\":\"%s\",\"pid\":%llu,\"started\":%llu,"
                "\"since\":\"2026-01-02 03:04:05 UTC\"}\n",
                boot.c_str(), processes.c_str(),
                static_cast<unsigned long long>(pid),
                static_cast<unsigned long long>(started));
}

/// Files cannot be opened while this lives (EMFILE).
class NoMoreFiles {
public:
  NoMoreFiles() {
    EXPECT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
    rlimit none = {0, before.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  }
  ~NoMoreFiles() { setrlimit(RLIMIT_NOFILE, &before); }

private:
  rlimit before;
};

class Leases : public testing::Test {
protected:
  /// How long acquire() took.
  std::chrono::duration<double> take(Lease &lease, Status &status) {
    auto begin = std::chrono::steady_clock::now();
    testing::internal::CaptureStderr();
    status = lease.acquire();
    warning = testing::internal::GetCapturedStderr();
    return std::chrono::steady_clock::now() - begin;
  }
  LeaseTiming fast(bool usesLocks) const { return {usesLocks, 50ms, 400ms}; }

  test::Folder folder;
  std::string path = folder / ".lock", warning;
  LeaseHolder self = LeaseHolder::ofThisProcess();
};

TEST_F(Leases, a_second_run_is_told_of_the_first) {
  for (bool usesLocks : {true, false}) {
    Lease first(folder.path, fast(usesLocks));
    ASSERT_TRUE(first.acquire().ok());
    Lease second(folder.path, fast(usesLocks));
    Status status = second.acquire();
    EXPECT_EQ(status.exitCode(), 1);
    EXPECT_EQ(status.message(),
              folder.path +
                  format(": in use by the run of host %s, pid %d, since %s; "
                         "expected one run at a time: end that one first, or "
                         "give another --checkpoint-dir",
                         self.host.c_str(), getpid(), self.since.c_str()));
    LeaseHolder other;
    EXPECT_EQ(first.state(other), Lease::State::held);
  }
}

TEST_F(Leases, ends_with_its_holder) {
  {
    Lease first(folder.path);
    ASSERT_TRUE(first.acquire().ok());
    EXPECT_TRUE(test::exists(path));
  }
  EXPECT_FALSE(test::exists(path));
  Lease second(folder.path);
  EXPECT_TRUE(second.acquire().ok());
}

/// What kill -9 leaves is free at once on the same machine: the lock is gone,
/// or where there are none, the process.
TEST_F(Leases, of_a_dead_process_here_is_taken_at_once) {
  const uint64_t nobody = 999999999;
  struct {
    bool usesLocks;
    std::string processes;
    uint64_t pid, started;
  } const cases[] = {{true, self.processes, nobody, 5},
                     {true, "pid:[1]", 1, 5},
                     {false, self.processes, nobody, 5},
                     // The pid is another process's by now.
                     {false, self.processes, self.pid, self.started + 1}};
  for (const auto &each : cases) {
    test::writeFile(path,
                    holder(self.boot, each.processes, each.pid, each.started));
    Lease lease(folder.path, {each.usesLocks, 50ms, 1h});
    Status status;
    EXPECT_LT(take(lease, status).count(), 5);
    EXPECT_TRUE(status.ok()) << status.message();
  }
}

TEST_F(Leases, of_another_host_that_is_silent_expires) {
  for (bool usesLocks : {true, false}) {
    test::writeFile(path, holder("another", "pid:[1]", 7, 5));
    Lease lease(folder.path, fast(usesLocks));
    Status status;
    EXPECT_GE(take(lease, status).count(), 0.39);
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_NE(warning.find("was in use by the run of host far, pid 7, since "
                           "2026-01-02 03:04:05 UTC; waiting"),
              std::string::npos)
        << warning;
  }
}

TEST_F(Leases, of_another_host_that_is_renewed_holds) {
  test::writeFile(path, holder("another", "pid:[1]", 7, 5));
  std::thread far([&] {
    for (int i = 0; i < 20; ++i) {
      std::this_thread::sleep_for(50ms);
      std::filesystem::last_write_time(
          path, std::filesystem::file_time_type::clock::now());
    }
  });
  Lease lease(folder.path, fast(true));
  Status status;
  take(lease, status);
  far.join();
  EXPECT_NE(status.message().find("in use by the run of host far, pid 7"),
            std::string::npos)
      << status.message();
}

TEST_F(Leases, of_long_ago_is_not_waited_for) {
  test::writeFile(path, holder("another", "pid:[1]", 7, 5));
  std::filesystem::last_write_time(
      path, std::filesystem::file_time_type::clock::now() - 2h);
  Lease lease(folder.path, {true, 50ms, 1h});
  Status status;
  EXPECT_LT(take(lease, status).count(), 5);
  EXPECT_TRUE(status.ok()) << status.message();
}

/// The other ranks would give up while the first one watches.
TEST_F(Leases, of_another_host_is_not_watched_for_longer_than_ranks_wait) {
  test::writeFile(path, holder("another", "pid:[1]", 7, 5));
  LeaseTiming timing;
  timing.patience = 39;
  Lease lease(folder.path, timing);
  Status status;
  EXPECT_LT(take(lease, status).count(), 5);
  EXPECT_EQ(status.message(),
            folder.path +
                ": was in use by the run of host far, pid 7, since 2026-01-02 "
                "03:04:05 UTC; to see whether it still is takes 35 s, expected "
                "--comm-timeout of at least 40, got 39");
  EXPECT_EQ(warning, "");
}

TEST_F(Leases, are_renewed) {
  Lease lease(folder.path, fast(true));
  ASSERT_TRUE(lease.acquire().ok());
  auto before = std::filesystem::last_write_time(path);
  for (int i = 0; i < 100 && std::filesystem::last_write_time(path) == before;
       ++i)
    std::this_thread::sleep_for(50ms);
  EXPECT_NE(std::filesystem::last_write_time(path), before);
}

TEST_F(Leases, whatever_the_file_holds) {
  for (const char *text : {"", "{", "12345", "{\"run\":\"\"}", "\x01\x02"}) {
    test::writeFile(path, text);
    Lease lease(folder.path, fast(true));
    Status status;
    EXPECT_LT(take(lease, status).count(), 5);
    EXPECT_TRUE(status.ok()) << status.message();
  }
}

/// What cannot be read now says nothing about who holds the folder.
TEST_F(Leases, a_file_that_cannot_be_read_is_not_lost) {
  Lease lease(folder.path, fast(true));
  ASSERT_TRUE(lease.acquire().ok());
  LeaseHolder other;
  {
    NoMoreFiles none;
    EXPECT_EQ(lease.state(other), Lease::State::unknown);
  }
  EXPECT_EQ(lease.state(other), Lease::State::held);
}

/// A run whose folder another one takes over.
class LostLease : public testing::Test {
protected:
  LostLease() {
    test::TinyModel model;
    test::describe(model, program.get());
    EXPECT_TRUE(arena.allocate(program->arenaBytes, "the arena").ok());
    std::memset(arena.at(0), 0, size_t(program->arenaBytes));
    EXPECT_TRUE(checkpoints.open(false).ok());
    EXPECT_TRUE(save(2).ok());
  }
  Status save(int64_t step) {
    return checkpoints.save({step, step, 0, false, 0}, arena);
  }
  std::vector<std::string> names() const { return test::namesIn(path); }

  test::Folder folder;
  std::string path = folder / "c";
  std::unique_ptr<ProcessGroup> world = makeSingleProcess();
  test::ProgramPtr program{honert_program_new(), honert_program_free};
  Arena arena;
  CheckpointFolder checkpoints{path, *program, *world};
};

TEST_F(LostLease, nothing_is_saved_or_removed_any_more) {
  test::writeFile(path + "/.lock", holder("another", "pid:[1]", 7, 5));
  for (const char *step : {"step-00000300", "step-00000400"})
    std::filesystem::copy(path + "/step-00000002", path + "/" + step);
  auto before = names();
  Status status = save(4);
  EXPECT_EQ(status.message(),
            path + ": taken over by the run of host far, pid 7, since "
                   "2026-01-02 03:04:05 UTC; this run ends, to write nothing "
                   "over checkpoints of that one");
  EXPECT_TRUE(checkpoints.isLost());
  EXPECT_EQ(names(), before);
}

TEST_F(LostLease, another_run_that_has_ended_is_noticed_too) {
  std::filesystem::remove(path + "/.lock");
  std::filesystem::copy(path + "/step-00000002", path + "/step-00000300");
  EXPECT_NE(save(4).message().find("taken over by another run"),
            std::string::npos);
  EXPECT_TRUE(checkpoints.isLost());
}

TEST_F(LostLease, a_lock_file_removed_by_hand_is_made_again) {
  std::filesystem::remove(path + "/.lock");
  Status status = save(4);
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_TRUE(test::exists(path + "/.lock"));
}

TEST_F(LostLease, a_lock_file_that_cannot_be_read_fails_one_save) {
  // UBSan looks at the type of *this through a pipe: not while there is none.
  CheckpointFolder &folder = checkpoints;
  Arena &memory = arena;
  Status failed;
  {
    NoMoreFiles none;
    failed = folder.save({4, 4, 0, false, 0}, memory);
  }
  EXPECT_EQ(failed.message(),
            path + "/.lock: cannot be read: Too many open files");
  EXPECT_FALSE(checkpoints.isLost());
  Status status = save(6);
  EXPECT_TRUE(status.ok()) << status.message();
}

/// What opening it anew on a full disk leaves.
TEST_F(LostLease, an_empty_lock_file_is_written_again) {
  test::writeFile(path + "/.lock", "");
  Status status = save(4);
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_FALSE(checkpoints.isLost());
  EXPECT_NE(test::readFile(path + "/.lock").find("\"run\""), std::string::npos);
}

/// A name in use keeps `latest` from being written.
TEST_F(LostLease, a_save_without_latest_is_completed_by_the_next_one) {
  EXPECT_TRUE(save(4).ok());
  std::filesystem::remove(path + "/latest");
  std::filesystem::create_directory(path + "/latest");
  EXPECT_NE(save(6).message().find("/latest: cannot be written"),
            std::string::npos);
  std::filesystem::remove(path + "/latest");
  EXPECT_EQ(names(),
            (std::vector<std::string>{"step-00000004", "step-00000006"}));
  Status status = save(6);
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(test::readFile(path + "/latest"), "step-00000006\n");
  EXPECT_EQ(names(), (std::vector<std::string>{"latest", "step-00000004",
                                               "step-00000006"}));
}

/// Even where the lease was lost between its check and the rename.
TEST_F(LostLease, a_checkpoint_of_the_same_step_stays) {
  std::filesystem::copy(path + "/step-00000002", path + "/step-00000004");
  test::writeFile(path + "/step-00000004/manifest.json", "of another run");
  EXPECT_NE(save(4).message().find("step-00000004: cannot be made"),
            std::string::npos);
  EXPECT_EQ(test::readFile(path + "/step-00000004/manifest.json"),
            "of another run");
  std::filesystem::copy(path + "/step-00000002", path + "/step-00000009");
  EXPECT_TRUE(save(6).ok());
  EXPECT_TRUE(save(8).ok());
  EXPECT_TRUE(test::exists(path + "/step-00000009"));
}

} // namespace
