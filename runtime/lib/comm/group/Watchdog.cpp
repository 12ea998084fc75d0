//===- Watchdog.cpp - Ends a process whose wait exceeds the timeout -------===//

#include "comm/group/Watchdog.h"
#include "base/Signals.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <string_view>
#include <unistd.h>

using namespace honert;

/// Between two looks: a timeout of some seconds is kept well, and a launcher
/// that kills a second after its signal is not too fast.
static constexpr std::chrono::milliseconds period(50);

/// A wait that a step of healthy ranks has too.
static constexpr double shortWait = 0.25; // s

/// From one look to the next only if the process was stopped.
static constexpr double longLook = 1; // s

Watchdog::Watchdog(const CollectiveLog &log, int64_t rank, double timeout,
                   Hooks hooks)
    : log(log), rank(rank), timeout(timeout), hooks(std::move(hooks)),
      thread([this] { watch(); }) {}

Watchdog::~Watchdog() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    isOver = true;
  }
  over.notify_one();
  thread.join();
}

void Watchdog::watch() {
  std::unique_lock<std::mutex> lock(mutex);
  while (!over.wait_for(lock, period, [this] { return isOver; }))
    look();
}

/// "all_reduce ... (number 3) has waited 5.0 s for rank 1"
static std::string textOf(const CollectiveLog::Wait &wait) {
  std::string text =
      toString(wait.entry) + format(" has waited %.1f s", wait.seconds);
  if (wait.peer >= 0)
    text += format(" for rank %lld", static_cast<long long>(wait.peer));
  return text;
}

/// How long the wait has lasted while the process ran.
double Watchdog::secondsOf(const CollectiveLog::Wait &wait,
                           double sinceLastLook) {
  if (std::exchange(lastWait, wait.entry.number) != wait.entry.number)
    stoodStill = 0;
  if (sinceLastLook > longLook)
    stoodStill += std::min(sinceLastLook, wait.seconds);
  return wait.seconds - stoodStill;
}

void Watchdog::look() {
  auto now = CollectiveLog::Clock::now();
  std::chrono::duration<double> sinceLastLook =
      now - std::exchange(lastLook, now);
  if (hooks.poll)
    if (Status status = hooks.poll(); !status.ok())
      end(status.message());
  std::optional<CollectiveLog::Wait> wait = log.waiting();
  if (!wait)
    return;
  wait->seconds = secondsOf(*wait, sinceLastLook.count());
  if (timeout > 0 && wait->seconds > timeout)
    end(textOf(*wait) +
        format(", expected at most %g s (--comm-timeout)", timeout));
  bool isForRank = wait->peer >= 0;
  if (stopSignal() && isForRank && wait->seconds > shortWait && !toldSignal) {
    toldSignal = true;
    std::fprintf(stderr, "rank %lld: %s came while %s\n",
                 static_cast<long long>(rank), signalName(stopSignal()),
                 textOf(*wait).c_str());
  }
}

/// What a library that is told to stop may take.
static constexpr unsigned abortSeconds = 5;

/// A pipe takes up to 4096 bytes in one piece.
static constexpr size_t mostWritten = 4000;

static void writeAll(std::string_view text) {
  while (!text.empty()) {
    ssize_t written = write(STDERR_FILENO, text.data(), text.size());
    if (written < 0 && errno == EINTR)
      continue;
    if (written <= 0)
      return;
    text.remove_prefix(static_cast<size_t>(written));
  }
}

std::vector<std::string> honert::piecesOf(const std::string &text,
                                          const std::string &prefix) {
  std::vector<std::string> pieces;
  for (size_t begin = 0, end; begin < text.size(); begin = end + 1) {
    end = std::min(text.find('\n', begin), text.size());
    std::string line = prefix + text.substr(begin, end - begin);
    if (line.size() >= mostWritten)
      line = line.substr(0, mostWritten - 4) + "...";
    line += '\n';
    if (pieces.empty() || pieces.back().size() + line.size() > mostWritten)
      pieces.emplace_back();
    pieces.back() += line;
  }
  return pieces;
}

void Watchdog::end(const std::string &line) {
  std::string prefix = format("rank %lld: ", static_cast<long long>(rank));
  // By itself, so that it stands before what ranks have to tell besides.
  for (const std::string &piece : piecesOf("error: " + line, prefix))
    writeAll(piece);
  for (const std::string &piece :
       piecesOf("its latest collectives:\n" + log.text(), prefix))
    writeAll(piece);
  if (hooks.abort) {
    (void)std::signal(SIGALRM, SIG_DFL); // one that hangs does not keep it
    (void)alarm(abortSeconds);
    hooks.abort();
  }
  _exit(1);
}
