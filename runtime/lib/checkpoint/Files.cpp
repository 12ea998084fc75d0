//===- Files.cpp - Reading by mapping, writing by renaming ----------------===//

#include "checkpoint/Files.h"
#include "checkpoint/MappedRanges.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace honert;

static Status systemError(const std::string &path, const char *what) {
  return Status::error(path + ": " + what + ": " + std::strerror(errno));
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

MappedFile::~MappedFile() {
  mapped_ranges::remove(slot);
  if (base)
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
  return *this;
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
  slot = mapped_ranges::add(base, size, path, descriptor);
  return Status();
}

void MappedFile::release(const char *from, int64_t count) const {
  if (count <= 0)
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
      return Status::error(format("%s: ends at byte %lld, wanted %lld",
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

/// A name no other process uses, in the same folder so that rename is atomic.
static std::string temporaryName(const std::string &path) {
  return folderOf(path) + "/." + baseName(path) + ".tmp-" +
         std::to_string(getpid());
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

static int createExclusively(const std::string &name) {
  int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
  int descriptor = open(name.c_str(), flags, 0600);
  if (descriptor < 0 && errno == EEXIST && unlink(name.c_str()) == 0)
    descriptor = open(name.c_str(), flags, 0600); // of a dead process
  return descriptor;
}

Status AtomicFile::create(const std::string &target) {
  path = target;
  temporary = ::temporaryName(path);
  descriptor = createExclusively(temporary);
  if (descriptor < 0)
    return systemError(path, "cannot be written");
  isCreator = true;
  return Status();
}

Status AtomicFile::join(const std::string &target, const std::string &name) {
  path = target;
  temporary = name;
  descriptor = open(temporary.c_str(), O_WRONLY | O_CLOEXEC);
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

Status AtomicFile::commit() {
  mode_t mask = umask(0);
  umask(mask);
  if (fchmod(descriptor, 0666 & ~mask) != 0)
    return failed("cannot be written");
  HONERT_TRY(sync());
  int closed = close(descriptor);
  descriptor = -1;
  if (closed != 0 || rename(temporary.c_str(), path.c_str()) != 0)
    return failed("cannot be written");
  isCreator = false;
  return syncFolder(folderOf(path));
}

Status honert::checkReplaceable(const std::string &path) {
  struct stat facts;
  if (stat(path.c_str(), &facts) == 0 && !S_ISREG(facts.st_mode))
    return Status::error(path + ": is no regular file, wanted one or none");
  std::string name = temporaryName(path);
  int descriptor = createExclusively(name);
  if (descriptor < 0)
    return systemError(path, "cannot be written");
  close(descriptor);
  unlink(name.c_str());
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
// Folders
//===----------------------------------------------------------------------===//

std::string honert::folderOf(const std::string &path) {
  size_t slash = path.find_last_of('/');
  if (slash == std::string::npos)
    return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string honert::baseName(const std::string &path) {
  size_t slash = path.find_last_of('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

bool honert::isFolder(const std::string &path) {
  struct stat facts;
  return stat(path.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode);
}

bool honert::isRegularFile(const std::string &path) {
  struct stat facts;
  return stat(path.c_str(), &facts) == 0 && S_ISREG(facts.st_mode);
}

bool honert::fileExists(const std::string &path) {
  struct stat facts;
  return stat(path.c_str(), &facts) == 0;
}

std::vector<std::string> honert::listFolder(const std::string &path) {
  std::vector<std::string> names;
  if (DIR *folder = opendir(path.c_str())) {
    while (dirent *entry = readdir(folder))
      names.emplace_back(entry->d_name);
    closedir(folder);
  }
  std::sort(names.begin(), names.end());
  return names;
}

void honert::removeFolder(const std::string &path) {
  for (const std::string &name : listFolder(path))
    if (name != "." && name != "..")
      unlink((path + "/" + name).c_str());
  rmdir(path.c_str());
}

Status honert::makeFolder(const std::string &path) {
  if (isFolder(path))
    return Status();
  if (mkdir(path.c_str(), 0777) != 0)
    return systemError(path, "cannot be made");
  return Status();
}

Status honert::syncFolder(const std::string &path) {
  int descriptor = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0)
    return systemError(path, "cannot be synced");
  int result = fsync(descriptor);
  close(descriptor);
  // Some file systems cannot sync folders and say so; nothing more can be done.
  if (result != 0 && errno != EINVAL)
    return systemError(path, "cannot be synced");
  return Status();
}
