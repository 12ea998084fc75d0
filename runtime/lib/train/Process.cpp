//===- Process.cpp - What a process owes its surroundings -----------------===//

#include "train/Process.h"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

using namespace honert;

// Standard output is one for the process, and so is what became of it.
static std::atomic<int> failure = 0; // the first errno

void honert::prepareProcess() {
  for (int descriptor :
       {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) // the lowest is taken
    if (fcntl(descriptor, F_GETFD) == -1 && errno == EBADF)
      (void)!open("/dev/null", O_RDWR);
  // A mapped file stays open, and data may have a thousand shards: as many as
  // the system lets this process have.
  rlimit files;
  if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = files.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &files);
  }
  for (int signal : {SIGPIPE, SIGXFSZ})
    (void)std::signal(signal, SIG_IGN);
  failure = 0;
}

/// Writes all, waiting for a reader where the descriptor does not wait: another
/// process may have made it so. An errno, or 0. (A stream forgets what it could
/// not write.)
static int writeAll(int descriptor, const std::string &text) {
  for (size_t done = 0; done < text.size();) {
    ssize_t written = write(descriptor, text.data() + done, text.size() - done);
    if (written > 0) {
      done += static_cast<size_t>(written);
    } else if (written == 0) {
      return EIO;
    } else if (errno == EAGAIN) {
      pollfd ready = {descriptor, POLLOUT, 0};
      (void)poll(&ready, 1, -1);
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

void honert::print(const std::string &text) {
  if (failure)
    return;
  errno = 0;
  if (std::fflush(stdout) != 0) // what others have put there comes first
    failure = errno ? errno : EIO;
  else
    failure = writeAll(fileno(stdout), text);
}

bool honert::isReaderGone() { return failure == EPIPE; }

Status honert::checkPrinted(bool isAll) {
  if (failure == 0)
    return Status();
  if (failure == EPIPE)
    return isAll ? Status::stopped(SIGPIPE) : Status();
  return Status::error(std::string("standard output: cannot be written: ") +
                       std::strerror(failure.load()));
}
