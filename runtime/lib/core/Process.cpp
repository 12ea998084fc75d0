//===- Process.cpp - What a process owes its surroundings -----------------===//

#include "core/Process.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

using namespace honert;

// Standard output is one for the process, and so is what became of it.
static int failure = 0; // the first errno

void honert::prepareProcess() {
  for (int descriptor :
       {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) // the lowest is taken
    if (fcntl(descriptor, F_GETFD) == -1 && errno == EBADF)
      (void)!open("/dev/null", O_RDWR);
  for (int signal : {SIGPIPE, SIGXFSZ})
    (void)std::signal(signal, SIG_IGN);
  failure = 0;
}

void honert::print(const std::string &text) {
  if (failure)
    return;
  errno = 0;
  if (std::fputs(text.c_str(), stdout) < 0 || std::fflush(stdout) != 0 ||
      std::ferror(stdout))
    failure = errno ? errno : EIO;
}

bool honert::isReaderGone() { return failure == EPIPE; }

Status honert::checkPrinted(bool isAll) {
  if (failure == 0)
    return Status();
  if (failure == EPIPE)
    return isAll ? Status::stopped(SIGPIPE) : Status();
  return Status::error(std::string("standard output: cannot be written: ") +
                       std::strerror(failure));
}
