//===- Signals.cpp - Ending a run after its step --------------------------===//

#include "base/Signals.h"
#include "base/MappedRanges.h"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <unistd.h>

using namespace honert;

//===----------------------------------------------------------------------===//
// Signals that ask for an end
//===----------------------------------------------------------------------===//

// A signal handler can reach nothing but a global. Atomic, since ranks may be
// threads of one process, as in tests.
static std::atomic<int> caught = 0;
static std::atomic<bool> wasInsistent = false; // SIGINT or SIGTERM came
static_assert(std::atomic<int>::is_always_lock_free &&
                  std::atomic<bool>::is_always_lock_free,
              "a signal handler uses them");

static void note(int signal) {
  if (signal == SIGINT || signal == SIGTERM) {
    if (wasInsistent)
      _exit(128 + signal);
    wasInsistent = true;
  }
  if (!caught)
    caught = signal;
}

void honert::catchStopSignals() {
  caught = 0;
  wasInsistent = false;
  struct sigaction action = {};
  action.sa_handler = note;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  // What the parent ignores stays ignored: SIGHUP below nohup, SIGINT in the
  // background of a script.
  struct sigaction before = {};
  for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1})
    if (sigaction(signal, nullptr, &before) == 0 &&
        before.sa_handler != SIG_IGN)
      sigaction(signal, &action, nullptr);
}

int honert::stopSignal() { return caught; }

const char *honert::signalName(int signal) {
  switch (signal) {
  case SIGHUP:
    return "SIGHUP";
  case SIGINT:
    return "SIGINT";
  case SIGILL:
    return "SIGILL";
  case SIGABRT:
    return "SIGABRT";
  case SIGBUS:
    return "SIGBUS";
  case SIGFPE:
    return "SIGFPE";
  case SIGUSR1:
    return "SIGUSR1";
  case SIGSEGV:
    return "SIGSEGV";
  case SIGPIPE:
    return "SIGPIPE";
  default:
    return "SIGTERM";
  }
}

//===----------------------------------------------------------------------===//
// Fatal signals
//===----------------------------------------------------------------------===//

static std::atomic<int64_t> reportingRank{-1};
static std::atomic_flag isReported = ATOMIC_FLAG_INIT;

namespace {
/// A line that is put together without memory or locks, as a handler must.
class SignalLine {
public:
  SignalLine &operator<<(const char *text) {
    while (*text && length < sizeof line)
      line[length++] = *text++;
    return *this;
  }
  SignalLine &number(uint64_t value, unsigned base) {
    char digits[24];
    size_t at = sizeof digits;
    digits[--at] = 0;
    do
      digits[--at] = "0123456789abcdef"[value % base];
    while (value /= base);
    return *this << digits + at;
  }
  void print() {
    for (size_t done = 0; done < length;) {
      ssize_t written = write(STDERR_FILENO, line + done, length - done);
      if (written <= 0 && errno != EINTR)
        return;
      done += written > 0 ? static_cast<size_t>(written) : 0;
    }
  }

private:
  char line[512];
  size_t length = 0;
};
} // namespace

static const char *explanation(int signal) {
  switch (signal) {
  case SIGILL:
    return "this CPU does not have an instruction of the program (--info tells "
           "which CPU it was compiled for)";
  case SIGBUS:
    return "memory of this machine or a file below it has failed";
  case SIGABRT:
    return "a library or the runtime has found itself in a state that it "
           "cannot go on from";
  default:
    return "a defect of this program, its libraries or this machine";
  }
}

static void reportFatal(int signal, siginfo_t *info, void *) {
  if (signal == SIGBUS && info->si_code > 0 &&
      mapped_ranges::replaceBroken(info->si_addr))
    return; // whoever reads there asks mapped_ranges::check()
  int savedErrno = errno;
  if (!isReported.test_and_set()) {
    SignalLine line;
    if (int64_t rank = reportingRank; rank >= 0)
      (line << "rank ").number(static_cast<uint64_t>(rank), 10) << ": ";
    line << "error: " << signalName(signal);
    if (info->si_code <= 0 && info->si_pid != getpid())
      (line << ": sent by process ")
          .number(static_cast<uint64_t>(info->si_pid), 10);
    else if (signal == SIGABRT)
      line << ": " << explanation(signal);
    else
      (line << " at 0x").number(reinterpret_cast<uintptr_t>(info->si_addr), 16)
          << ": " << explanation(signal);
    line << "; checkpoints saved before stand\n";
    line.print();
  } else {
    (void)sleep(1); // another thread is writing the line
  }
  // The same end as without a handler, core file included.
  struct sigaction action = {};
  action.sa_handler = SIG_DFL;
  sigemptyset(&action.sa_mask);
  sigaction(signal, &action, nullptr);
  errno = savedErrno;
  (void)raise(signal); // pending until this handler returns
}

void honert::reportFatalSignals(int64_t rank) {
  reportingRank = rank;
  isReported.clear();
  // Where the stack has overflown there is no room for a handler.
  alignas(16) static char stack[1 << 16];
  stack_t place = {};
  place.ss_sp = stack;
  place.ss_size = sizeof stack;
  sigaltstack(&place, nullptr);
  struct sigaction action = {}, before = {};
  action.sa_sigaction = reportFatal;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  for (int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT}) {
    bool isFree = sigaction(signal, nullptr, &before) == 0 &&
                  !(before.sa_flags & SA_SIGINFO) &&
                  before.sa_handler == SIG_DFL;
    // SIGBUS in any case: a data file that is cut must not end a run that can
    // still save. Among ranks it is MPI that has put a trace of the stack
    // there.
    if (isFree || signal == SIGBUS || rank >= 0)
      sigaction(signal, &action, nullptr);
  }
}
