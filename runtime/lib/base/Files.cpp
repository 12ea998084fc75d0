//===- Files.cpp - Reading by mapping, writing by renaming ----------------===//

#include "base/Files.h"
#include "base/FileLock.h"
#include "base/MappedRanges.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace honert;

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

MappedFile::~MappedFile() {
  mapped_ranges::remove(slot);
  if (isMapped)
    munmap(const_cast<char *>(base), static_cast<size_t>(bytes));
  if (descriptor >= 0)
    close(descriptor);
}

MappedFile::MappedFile(MappedFile &&other) noexcept {
  *this = std::move(other);
}

MappedFile &MappedFile::operator=(MappedFile &&other) noexcept {
  std::swap(base, other.base);
  std::swap(bytes, other.bytes);
  std::swap(descriptor, other.descriptor);
  std::swap(slot, other.slot);
  std::swap(isMapped, other.isMapped);
  return *this;
}

MappedFile MappedFile::ofMemory(std::string_view content) {
  MappedFile file;
  file.base = content.data();
  file.bytes = static_cast<int64_t>(content.size());
  return file;
}

/// Opens a regular file of `bytes` bytes. `descriptor` is the caller's to close
/// unless it is negative, also after an error.
static Status openRegular(const std::string &path, int &descriptor,
                          int64_t &bytes) {
  // Not to wait for a writer if the name is a pipe.
  descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat facts;
  if (descriptor < 0 || fstat(descriptor, &facts) != 0)
    return systemError(path, "cannot be read");
  if (!S_ISREG(facts.st_mode))
    return Status::error(path + ": is not a regular file");
  bytes = facts.st_size;
  return Status();
}

Status MappedFile::open(const std::string &path) {
  int64_t size = 0;
  HONERT_TRY(openRegular(path, descriptor, size));
  if (size == 0)
    return Status();
  void *mapped = mmap(nullptr, static_cast<size_t>(size), PROT_READ,
                      MAP_PRIVATE, descriptor, 0);
  if (mapped == MAP_FAILED)
    return systemError(path, "cannot be mapped");
  base = static_cast<const char *>(mapped);
  bytes = size;
  isMapped = true;
  slot = mapped_ranges::add(base, size, path, descriptor);
  return Status();
}

void MappedFile::release(const char *from, int64_t count) const {
  if (count <= 0 || !isMapped)
    return;
  // Whole pages: a neighbour that goes too is read again. (The mapping starts
  // on one, and ends with the last.)
  int64_t page = sysconf(_SC_PAGESIZE), offset = from - base;
  int64_t begin = offset / page * page, end = offset + count;
  // A wish: what cannot be released stays.
  (void)madvise(const_cast<char *>(base) + begin,
                static_cast<size_t>(end - begin), MADV_DONTNEED);
}

ReadFile::~ReadFile() {
  if (descriptor >= 0)
    close(descriptor);
}

Status ReadFile::open(const std::string &name) {
  path = name;
  return openRegular(path, descriptor, bytes);
}

Status ReadFile::readAt(int64_t offset, void *data, int64_t count) const {
  auto *next = static_cast<char *>(data);
  while (count > 0) {
    ssize_t read = pread(descriptor, next, static_cast<size_t>(count), offset);
    if (read < 0 && errno == EINTR)
      continue;
    if (read < 0)
      return systemError(path, "cannot be read");
    if (read == 0)
      return Status::error(format("%s: ends at byte %lld, expected %lld",
                                  path.c_str(), static_cast<long long>(offset),
                                  static_cast<long long>(bytes)));
    next += read;
    offset += read;
    count -= read;
  }
  return Status();
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

std::string honert::temporaryPrefix(const std::string &path) {
  return "." + baseName(path) + ".tmp-";
}

Status AtomicFile::failed(const char *what) {
  Status status = systemError(path, what);
  if (descriptor >= 0)
    close(descriptor);
  descriptor = -1;
  if (isCreator)
    unlink(temporary.c_str());
  isCreator = false;
  return status;
}

AtomicFile::~AtomicFile() {
  if (descriptor >= 0)
    close(descriptor);
  if (isCreator)
    unlink(temporary.c_str());
}

/// Makes a file beside `path` that is nobody else's and locks it, so that
/// others can tell it from a leftover. Negative: not possible; see errno.
static int createTemporary(const std::string &path, std::string &name) {
  int flags = O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC;
  for (int tries = 0; tries < 100; ++tries) {
    name = folderOf(path) + "/" + temporaryPrefix(path) + randomName();
    int descriptor = open(name.c_str(), flags, 0600);
    if (descriptor < 0 && errno == EEXIST)
      continue;
    if (descriptor < 0)
      return descriptor;
    // Between the two calls another process may have taken it for a leftover.
    struct stat facts;
    if (lockFile(descriptor) != FileLock::heldByOther &&
        fstat(descriptor, &facts) == 0 && facts.st_nlink > 0)
      return descriptor;
    close(descriptor);
    unlink(name.c_str());
  }
  errno = EBUSY;
  return -1;
}

Status AtomicFile::create(const std::string &target) {
  path = target;
  descriptor = createTemporary(path, temporary);
  if (descriptor < 0)
    return systemError(path, "cannot be written");
  isCreator = true;
  return Status();
}

Status AtomicFile::join(const std::string &target, const std::string &name) {
  path = target;
  temporary = name;
  descriptor = open(temporary.c_str(), O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
  if (descriptor < 0)
    return systemError(path, "cannot be written where the first rank writes");
  return Status();
}

Status AtomicFile::write(const void *data, int64_t count) {
  HONERT_TRY(writeAt(bytes, data, count));
  bytes += count;
  return Status();
}

Status AtomicFile::writeAt(int64_t offset, const void *data, int64_t count) {
  const auto *next = static_cast<const char *>(data);
  for (int64_t left = count; left > 0;) {
    ssize_t wrote = pwrite(descriptor, next, static_cast<size_t>(left), offset);
    if (wrote < 0 && errno == EINTR)
      continue;
    if (wrote <= 0)
      return failed("cannot be written");
    next += wrote;
    offset += wrote;
    left -= wrote;
  }
  return Status();
}

Status AtomicFile::resize(int64_t size) {
  int result;
  do
    result = ftruncate(descriptor, size);
  while (result != 0 && errno == EINTR);
  return result == 0 ? Status() : failed("cannot be written");
}

Status AtomicFile::sync() {
  return fsync(descriptor) == 0 ? Status() : failed("cannot be written");
}

/// The file gets the owner and permissions of the one it replaces, or those of
/// a new one.
Status AtomicFile::takePermissions() {
  struct stat old, own;
  mode_t mask = umask(0);
  umask(mask);
  mode_t mode = 0666 & ~mask;
  if (stat(path.c_str(), &old) == 0 && S_ISREG(old.st_mode)) {
    mode = old.st_mode & 0777;
    // Only root may give files away, and members of a group to that.
    if (fstat(descriptor, &own) == 0 &&
        (own.st_uid != old.st_uid || own.st_gid != old.st_gid))
      (void)!fchown(descriptor, old.st_uid, old.st_gid);
  }
  return fchmod(descriptor, mode) == 0 ? Status() : failed("cannot be written");
}

Status AtomicFile::commit() {
  HONERT_TRY(takePermissions());
  HONERT_TRY(sync());
  // Closed afterwards: until then the lock says that this is no leftover. What
  // close() could report, fsync() has.
  if (rename(temporary.c_str(), path.c_str()) != 0)
    return failed("cannot be written");
  isCreator = false;
  close(descriptor);
  descriptor = -1;
  return syncFolder(folderOf(path));
}

Status honert::checkReplaceable(const std::string &path) {
  struct stat facts;
  if (stat(path.c_str(), &facts) == 0 && !S_ISREG(facts.st_mode))
    return Status::error(path + ": is no regular file, expected one or none");
  removeLeftovers(path);
  std::string name;
  int descriptor = createTemporary(path, name);
  if (descriptor < 0)
    return systemError(path, "cannot be written");
  unlink(name.c_str());
  close(descriptor);
  return Status();
}

Status honert::checkAppendable(const std::string &path) {
  struct stat facts;
  if (stat(path.c_str(), &facts) != 0 || S_ISDIR(facts.st_mode))
    return checkReplaceable(path);
  if (access(path.c_str(), W_OK) != 0)
    return systemError(path, "cannot be written");
  return Status();
}

bool honert::isSameFile(const std::string &path, const std::string &other) {
  struct stat one, two;
  return stat(path.c_str(), &one) == 0 && stat(other.c_str(), &two) == 0 &&
         one.st_dev == two.st_dev && one.st_ino == two.st_ino;
}

//===----------------------------------------------------------------------===//
// Checksum
//===----------------------------------------------------------------------===//

static uint64_t mix(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * 0x9E3779B185EBCA87;
  return hash ^ hash >> 29;
}

void Checksum::addBlock(const unsigned char *block) {
  for (int lane = 0; lane < 4; ++lane) {
    uint64_t word;
    std::memcpy(&word, block + 8 * lane, 8);
    lanes[lane] = mix(lanes[lane], word);
  }
}

void Checksum::add(const void *data, int64_t bytes) {
  const auto *next = static_cast<const unsigned char *>(data);
  total += static_cast<uint64_t>(bytes);
  while (bytes > 0) {
    if (pendingBytes == 0 && bytes >= 32) {
      addBlock(next);
      next += 32;
      bytes -= 32;
      continue;
    }
    int taken = static_cast<int>(std::min<int64_t>(32 - pendingBytes, bytes));
    std::memcpy(pending + pendingBytes, next, static_cast<size_t>(taken));
    pendingBytes += taken;
    next += taken;
    bytes -= taken;
    if (pendingBytes == 32) {
      addBlock(pending);
      pendingBytes = 0;
    }
  }
}

uint64_t Checksum::value() const {
  Checksum last = *this;
  if (pendingBytes > 0) {
    std::memset(last.pending + pendingBytes, 0,
                static_cast<size_t>(32 - pendingBytes));
    last.addBlock(last.pending);
  }
  uint64_t hash = total; // tells padding from zeros
  for (uint64_t lane : last.lanes)
    hash = mix(hash, lane);
  return mix(hash, 0);
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

bool honert::isRegularFile(const std::string &path) {
  struct stat facts;
  return stat(path.c_str(), &facts) == 0 && S_ISREG(facts.st_mode);
}

bool honert::fileExists(const std::string &path) {
  struct stat facts;
  return stat(path.c_str(), &facts) == 0;
}
