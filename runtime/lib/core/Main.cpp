//===- Main.cpp - The command line of a training program ------------------===//

#include "core/Info.h"
#include "core/Trainer.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>

using namespace honert;

static int report(const Status &status) {
  if (!status.message().empty())
    std::fprintf(stderr, "error: %s\n", status.message().c_str());
  return status.exitCode();
}

/// --info works on a machine that lacks the library, or the GPU.
static Status printInfo(const Program &program, const ThreadPool &pool) {
  std::unique_ptr<Executor> executor = makeExecutor(program, pool);
  Status started = executor->startForInfo();
  std::string text = infoText(program, *executor, started.message());
  std::fputs(text.c_str(), stdout);
  return Status();
}

static Status runMain(const Program &program, int argc, char **argv) {
  Options options;
  HONERT_TRY(parseOptions(program, argc, argv, options));
  if (options.help) {
    std::fputs(helpText(argv[0]).c_str(), stdout);
    return Status();
  }
  if (options.version) {
    std::fputs(versionText(program).c_str(), stdout);
    return Status();
  }
  HONERT_TRY(program.check());
  ThreadPool pool(options.threads > 0 ? static_cast<int>(options.threads)
                                      : availableCores());
  if (options.info)
    return printInfo(program, pool);
  std::unique_ptr<World> world = makeSingleWorld();
  return Trainer(program, options, pool, *world).run();
}

/// What was printed has reached its file: a full disk is an error of the run,
/// told at its end so that it costs no training.
static Status checkOutput() {
  if (std::fflush(stdout) == 0 && !std::ferror(stdout))
    return Status();
  return Status::error(std::string("standard output: cannot be written: ") +
                       std::strerror(errno));
}

extern "C" int honert_main(honert_program *program, int argc, char **argv) {
  // Nothing throws on purpose; the standard library does when memory ends.
  try {
    Status status = runMain(*program, argc, argv);
    return report(status.ok() ? checkOutput() : status);
  } catch (const std::bad_alloc &) {
    return report(Status::error("out of memory"));
  } catch (const std::exception &exception) {
    return report(Status::error(std::string("internal: ") + exception.what()));
  }
}
