//===- Files.h - Reading by mapping, writing by renaming ------------------===//

#ifndef HONERT_BASE_FILES_H
#define HONERT_BASE_FILES_H

#include "base/Status.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace honert {

/// "PATH: WHAT: ..." with what errno says.
Status systemError(const std::string &path, const char *what);

/// Most bytes of a file that whoever passes through it keeps in memory.
constexpr int64_t pieceBytes = 1 << 20;

/// A whole regular file, mapped for reading. What was read stays resident until
/// it is released. A file that is cut meanwhile reads as zeros from there on;
/// mapped_ranges::check() tells that, and whether it was written to. Another
/// file that takes its name changes nothing.
class MappedFile {
public:
  MappedFile() = default;
  ~MappedFile();
  MappedFile(MappedFile &&other) noexcept;
  MappedFile &operator=(MappedFile &&other) noexcept;

  Status open(const std::string &path);
  /// Bytes in memory in the place of a file's; they have to live as long.
  static MappedFile ofMemory(std::string_view content);

  const char *data() const { return base; }
  int64_t size() const { return bytes; }
  std::string_view view() const { return {base, static_cast<size_t>(bytes)}; }

  /// Lets go of the memory of these bytes of the file; read again, they come
  /// from the file again.
  void release(const char *from, int64_t count) const;

private:
  const char *base = nullptr;
  int64_t bytes = 0;
  int descriptor = -1;
  int slot = -1; // of mapped_ranges
  bool isMapped = false;
};

/// A regular file that is read piece by piece: what fails is an error, where a
/// mapping would end the process by SIGBUS.
class ReadFile {
public:
  ReadFile() = default;
  ~ReadFile();
  ReadFile(const ReadFile &) = delete;
  ReadFile &operator=(const ReadFile &) = delete;

  Status open(const std::string &path);
  int64_t size() const { return bytes; }
  /// `count` bytes from `offset` on. A file that has become shorter is an
  /// error.
  Status readAt(int64_t offset, void *data, int64_t count) const;

private:
  std::string path;
  int descriptor = -1;
  int64_t bytes = 0;
};

/// A file that appears under its name complete, or not at all: written beside
/// it, synced, renamed. Several processes may write one: the first creates it
/// and commits, the others join it. What a killed process leaves beside `path`,
/// the next checkReplaceable() of that path removes.
class AtomicFile {
public:
  AtomicFile() = default;
  /// Removes what was created unless commit() succeeded.
  ~AtomicFile();
  AtomicFile(const AtomicFile &) = delete;
  AtomicFile &operator=(const AtomicFile &) = delete;

  Status create(const std::string &path);
  /// Opens what another process has created for `path` under `temporary`.
  Status join(const std::string &path, const std::string &temporary);
  /// The name until commit().
  const std::string &temporaryName() const { return temporary; }
  /// Writes after what was written so.
  Status write(const void *data, int64_t bytes);
  Status writeAt(int64_t offset, const void *data, int64_t bytes);
  /// The file has `size` bytes from now on, zeros where nothing was written.
  /// Where several processes write, before the others join: a client of NFS
  /// that makes a file longer may write zeros over what others wrote there.
  Status resize(int64_t size);
  /// What was written survives a power failure, under the temporary name.
  Status sync();
  Status commit();

private:
  Status failed(const char *what);
  Status takePermissions();

  std::string path, temporary;
  bool isCreator = false;
  int descriptor = -1;
  int64_t bytes = 0;
};

/// 64-bit checksum of a stream of bytes, at memory speed. Any change inside
/// one 8-byte word changes it: every step is a bijection of that word.
class Checksum {
public:
  void add(const void *data, int64_t bytes);
  uint64_t value() const;

private:
  void addBlock(const unsigned char *block);

  uint64_t lanes[4] = {0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F,
                       0x165667B19E3779F9, 0x27D4EB2F165667C5};
  unsigned char pending[32];
  int pendingBytes = 0;
  uint64_t total = 0;
};

/// Splits "a/b/c" into "a/b" and "c"; the folder of "c" is ".".
std::string folderOf(const std::string &path);
std::string baseName(const std::string &path);
bool isFolder(const std::string &path);
bool isLink(const std::string &path);
bool isRegularFile(const std::string &path);
bool fileExists(const std::string &path);
/// All names in a folder, sorted, without "." and "..".
Status listFolder(const std::string &path, std::vector<std::string> &names);
/// Removes a folder and the files in it. Links are not followed: of a link in
/// the folder the link itself goes; a link instead of the folder, and folders
/// in it, stay.
void removeFolder(const std::string &path);
/// How names of temporary files beside `path` begin.
std::string temporaryPrefix(const std::string &path);
/// Removes temporary files beside `path` whose process has ended; where the
/// file system has no locks, none.
void removeLeftovers(const std::string &path);
/// Survives a power failure.
Status makeFolder(const std::string &path);
Status syncFolder(const std::string &path);
/// An AtomicFile can be made at `path`, found out by making a file beside it.
/// What lies there may be a regular file only: devices are not replaced.
Status checkReplaceable(const std::string &path);
/// `path` can be opened for writing; unlike an AtomicFile, devices too.
Status checkAppendable(const std::string &path);
/// Both names lead to one existing file.
bool isSameFile(const std::string &path, const std::string &other);

} // namespace honert

#endif // HONERT_BASE_FILES_H
