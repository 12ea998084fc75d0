//===- Main.cpp - The command line of a training program ------------------===//

#include "base/Printable.h"
#include "base/Signals.h"
#include "comm/host/SingleProcess.h"
#include "program/Stages.h"
#include "train/Bench.h"
#include "train/CheckMachine.h"
#include "train/Connect.h"
#include "train/Generate.h"
#include "train/Info.h"
#include "train/MakeExecutor.h"
#include "train/Process.h"
#include "train/SharedFacts.h"
#include "train/Smoke.h"
#include "train/ThreadLimits.h"
#include "train/Trainer.h"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <new>
#include <sys/stat.h>
#include <unistd.h>

using namespace honert;

namespace {
/// What is known of a run when it ends, whichever way.
struct Run {
  LauncherEnvironment place;
  std::unique_ptr<ProcessGroup> world; ///< null until connected
};
} // namespace

/// The one line of an error; among several ranks it names its own.
static int report(const Status &status, const LauncherEnvironment &place) {
  std::string prefix =
      place.size == 1
          ? ""
          : format("rank %lld: ", static_cast<long long>(place.rank));
  if (!status.message().empty())
    std::fprintf(stderr, "%serror: %s\n", prefix.c_str(),
                 printable(status.message()).c_str());
  return status.exitCode();
}

/// --info works on a machine that lacks the library, or the GPU.
static Status printInfo(const Program &program, const ThreadPool &pool) {
  for (size_t i = 0; i != program.stages.size(); ++i) {
    print(format("stage %zu of %zu\n", i, program.stages.size()));
    HONERT_TRY(printInfo(program.stages[i], pool));
  }
  if (!program.stages.empty())
    return Status();
  std::unique_ptr<Executor> executor = makeExecutor(program, pool);
  Status started = executor->startForInfo();
  print(infoText(program, *executor, started.message()));
  return Status();
}

/// --check needs no other rank, and no GPU.
static Status checkRun(const Program &program, const Options &options,
                       const ThreadPool &pool,
                       const LauncherEnvironment &place) {
  if (place.rank != 0)
    return Status();
  std::unique_ptr<ProcessGroup> alone = makeSingleProcess();
  return Trainer(program, options, pool, *alone).check();
}

/// Ranks of one machine share its cores, unless the launcher has given each its
/// own. A text is made by one thread where others use the cores, which `note`
/// tells: its launches take microseconds, and each waits for the thread that
/// lost its core.
static int threadsFor(const Options &options, const LauncherEnvironment &place,
                      std::string &note) {
  if (options.threads > 0)
    return static_cast<int>(options.threads);
  int cores = availableCores();
  bool areAll = cores == sysconf(_SC_NPROCESSORS_ONLN);
  int sharing = areAll ? static_cast<int>(place.localSize) : 1;
  int threads = std::max(1, cores / sharing);
  if (options.onlyGenerates())
    note = oneThreadNote(threads);
  return note.empty() ? threads : 1;
}

/// Bytes of the files that are mapped.
static int64_t mappedBytes(const Options &options) {
  std::vector<std::string> files = {options.init};
  for (const auto *sources : {&options.sources, &options.validationSources})
    for (const TokenSource &source : *sources)
      files.insert(files.end(), source.files.begin(), source.files.end());
  for (const auto *inputs : {&options.inputs, &options.validationInputs})
    for (const auto &input : *inputs)
      files.push_back(input.second);
  int64_t bytes = 0;
  for (const std::string &file : files) {
    struct stat facts;
    if (!file.empty() && stat(file.c_str(), &facts) == 0 &&
        __builtin_add_overflow(bytes, facts.st_size, &bytes))
      return INT64_MAX / 2;
  }
  return bytes;
}

static Status runMain(const Program &whole, int argc, char **argv, Run &run) {
  HONERT_TRY(readLauncherEnvironment(run.place));
  if (run.place.rank != 0 && !std::freopen("/dev/null", "w", stdout))
    return Status::error("/dev/null: cannot be opened");
  Options options;
  HONERT_TRY(parseOptions(whole, argc, argv, options));
  if (options.help) {
    print(helpText(argv[0], whole));
    return Status();
  }
  if (options.helpJson) {
    print(helpJson());
    return Status();
  }
  if (options.version) {
    print(versionText(whole));
    return Status();
  }
  HONERT_TRY(whole.check());
  std::string note;
  ThreadPool pool(threadsFor(options, run.place, note));
  if (options.info)
    return printInfo(whole, pool);
  const Program &program = whole.ofRank(run.place.rank);
  if (options.check)
    return checkRun(program, options, pool, run.place);
  HONERT_TRY(ThreadPool::openLibrary());
  HONERT_TRY(checkMachine(program, run.place, pool.size(), mappedBytes(options),
                          !options.onlyGenerates()));
  HONERT_TRY(connect(program, options, run.place, run.world));
  // After MPI, which complains about handlers that are there before its own.
  reportFatalSignals(run.place.size > 1 ? run.place.rank : -1);
  HONERT_TRY(checkConsistency(sharedFacts(whole, options), *run.world));
  if (options.benchCollectives)
    return benchCollectives(program, options, *run.world);
  if (options.smoke)
    return smokeTest(program, options, pool, *run.world);
  if (!note.empty() && !options.quiet)
    std::fprintf(stderr, "%s\n", note.c_str());
  if (options.onlyGenerates())
    return generateText(program, options, pool, *run.world);
  return Trainer(program, options, pool, *run.world).run();
}

/// Nothing throws on purpose; the standard library does when memory ends.
static Status runGuarded(const Program &program, int argc, char **argv,
                         Run &run) {
  try {
    Status status = runMain(program, argc, argv, run);
    // A full disk is an error of the run, told at its end so that it costs no
    // training.
    return status.ok() ? checkPrinted(!run.world) : status;
  } catch (const std::bad_alloc &) {
    return Status::error("out of memory");
  } catch (const std::exception &exception) {
    return Status::error(std::string("internal: ") + exception.what());
  }
}

/// In microseconds: other ranks that fail for the same reason tell it
/// meanwhile.
static constexpr useconds_t patience = 500000;

extern "C" int honert_main(honert_program *program, int argc, char **argv) {
  prepareProcess();
  Run run;
  joinStages(*program);
  Status status = runGuarded(*program, argc, argv, run);
  int code = report(status, run.place);
  // A stop is known to all ranks, and has been waited for by all.
  bool hasFailed = !status.ok() && !status.isStop();
  if (hasFailed && run.place.size > 1) // the launcher ends the others soon
    usleep(patience);
  if (run.world)
    run.world->leave(hasFailed ? status : Status());
  return code;
}
