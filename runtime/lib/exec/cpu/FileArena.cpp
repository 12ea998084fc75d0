//===- FileArena.cpp - The second arena as a file -------------------------===//

#include "exec/cpu/FileArena.h"
#include "base/Files.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

using namespace honert;

//===----------------------------------------------------------------------===//
// The file
//===----------------------------------------------------------------------===//

UnnamedFile::~UnnamedFile() {
  if (file >= 0)
    close(file);
}

/// A file that no folder lists; on file systems that have no such, one whose
/// name is taken away at once.
static int openUnnamed(const std::string &folder) {
  int file = open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (file >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL))
    return file;
  std::string name = folder + "/.hone-offload-XXXXXX";
  file = mkostemp(name.data(), O_CLOEXEC);
  if (file >= 0)
    unlink(name.c_str());
  return file;
}

static Status noRoom(const std::string &folder, int64_t bytes) {
  struct statvfs disk;
  int64_t free = 0;
  if (statvfs(folder.c_str(), &disk) == 0)
    free = static_cast<int64_t>(disk.f_bavail) *
           static_cast<int64_t>(disk.f_frsize);
  return Status::error(format(
      "the second arena needs %s of disk; %s has %s free (--offload-dir "
      "DIR names another folder)",
      formatBytes(bytes).c_str(), folder.c_str(), formatBytes(free).c_str()));
}

Status UnnamedFile::create(const std::string &folder, int64_t bytes) {
  file = openUnnamed(folder);
  if (file < 0)
    return systemError(folder, "cannot make a file for the second arena "
                               "(--offload-dir DIR names another folder)");
  // A file with holes would end the process when the disk is full.
  int failed = posix_fallocate(file, 0, bytes);
  if (failed == ENOSPC || failed == EFBIG || failed == EDQUOT)
    return noRoom(folder, bytes);
  errno = failed;
  return failed ? systemError(folder, "cannot take room for the second arena")
                : Status();
}

Status UnnamedFile::zero(int64_t offset, int64_t bytes) const {
  if (bytes == 0 || fallocate(file, FALLOC_FL_ZERO_RANGE, offset, bytes) == 0)
    return Status();
  static const char zeros[64 << 10] = {};
  for (int64_t done = 0; done != bytes;) {
    auto length = std::min<int64_t>(bytes - done, sizeof zeros);
    ssize_t written =
        pwrite(file, zeros, static_cast<size_t>(length), offset + done);
    if (written <= 0)
      return systemError("the second arena", "cannot write zeros");
    done += written;
  }
  return Status();
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

/// Bytes per second that HONE_LINK allows: slower copies, for tests.
static double allowedRate() {
  const char *text = std::getenv("HONE_LINK");
  return text ? std::max(0.0, std::strtod(text, nullptr)) : 0;
}

CopyQueue::CopyQueue(CopyDirection direction, int file, char *arena)
    : direction(direction), file(file), arena(arena), rate(allowedRate()),
      thread([this] { work(); }) {}

CopyQueue::~CopyQueue() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    ends = true;
  }
  changed.notify_all();
  thread.join();
}

void CopyQueue::push(const CopyLaunch &copy) {
  {
    std::lock_guard<std::mutex> lock(mutex);
    queue.push_back(copy);
  }
  changed.notify_all();
}

Status CopyQueue::wait(int64_t token) {
  std::unique_lock<std::mutex> lock(mutex);
  changed.wait(lock, [&] {
    return std::none_of(
        queue.begin(), queue.end(),
        [&](const CopyLaunch &copy) { return copy.token == token; });
  });
  return error;
}

void CopyQueue::work() {
  std::unique_lock<std::mutex> lock(mutex);
  while (true) {
    changed.wait(lock, [&] { return ends || !queue.empty(); });
    if (queue.empty())
      return;
    CopyLaunch next = queue.front();
    lock.unlock();
    Status done = copy(next);
    lock.lock();
    if (error.ok())
      error = done;
    queue.pop_front();
    changed.notify_all();
  }
}

void CopyQueue::slowDown(int64_t bytes) {
  if (rate > 0)
    std::this_thread::sleep_for(
        std::chrono::duration<double>(static_cast<double>(bytes) / rate));
}

/// In pieces, each of which leaves the cache before the next but one.
Status CopyQueue::copy(const CopyLaunch &copy) {
  constexpr int64_t piece = 8 << 20;
  for (int64_t done = 0; done < copy.bytes; done += piece) {
    int64_t bytes = std::min(piece, copy.bytes - done);
    HONERT_TRY(move(copy.offset + done, copy.hostOffset + done, bytes));
    leaveCache(copy.hostOffset + done, bytes);
    slowDown(bytes);
  }
  return Status();
}

Status CopyQueue::move(int64_t offset, int64_t hostOffset,
                       int64_t bytes) const {
  while (bytes > 0) {
    auto length = static_cast<size_t>(bytes);
    ssize_t moved = direction == CopyDirection::up
                        ? pread(file, arena + offset, length, hostOffset)
                        : pwrite(file, arena + offset, length, hostOffset);
    if (moved < 0 && errno == EINTR)
      continue;
    if (moved <= 0)
      return systemError("the second arena", direction == CopyDirection::up
                                                 ? "cannot be read"
                                                 : "cannot be written");
    offset += moved;
    hostOffset += moved;
    bytes -= moved;
  }
  return Status();
}

/// Only pages that are on the disk can leave the cache: what was written is put
/// on its way there, and what was before it is waited for. Wishes: where they
/// are not granted, the system's cache is larger.
void CopyQueue::leaveCache(int64_t offset, int64_t bytes) {
  if (direction == CopyDirection::up) {
    (void)posix_fadvise(file, offset, bytes, POSIX_FADV_DONTNEED);
    return;
  }
  constexpr int64_t batch = 4 << 20;
  if (writtenBytes == 0 || offset != written + writtenBytes)
    written = offset, writtenBytes = 0;
  writtenBytes += bytes;
  if (writtenBytes < batch)
    return;
  (void)sync_file_range(file, written, writtenBytes,
                        SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |
                            SYNC_FILE_RANGE_WAIT_AFTER);
  (void)posix_fadvise(file, written, writtenBytes, POSIX_FADV_DONTNEED);
  writtenBytes = 0;
}

//===----------------------------------------------------------------------===//
// Both directions
//===----------------------------------------------------------------------===//

Status FileArena::create(const std::string &folder, int64_t bytes) {
  const char *fallback = std::getenv("TMPDIR");
  if (!folder.empty())
    return file.create(folder, bytes);
  return file.create(fallback && *fallback ? fallback : "/var/tmp", bytes);
}

void FileArena::start(char *arena) {
  for (CopyDirection direction : {CopyDirection::down, CopyDirection::up})
    queues[static_cast<int64_t>(direction)] =
        std::make_unique<CopyQueue>(direction, file.descriptor(), arena);
}

void FileArena::begin(const CopyLaunch &copy) {
  queues[static_cast<int64_t>(copy.direction)]->push(copy);
}

Status FileArena::wait(int64_t token) {
  for (auto &queue : queues)
    HONERT_TRY(queue->wait(token));
  return Status();
}
