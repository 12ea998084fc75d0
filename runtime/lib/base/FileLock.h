//===- FileLock.h - Locks that end with their process -----------*- C++ -*-===//

#ifndef HONERT_BASE_FILELOCK_H
#define HONERT_BASE_FILELOCK_H

#include <cstdint>
#include <string>

namespace honert {

/// `unsupported`: the file system has no locks.
enum class FileLock { held, heldByOther, unsupported };

/// Tries to lock the whole open file for writing. The lock belongs to the open
/// file, not to the process: it goes when the last descriptor is closed,
/// however the process ends.
FileLock lockFile(int descriptor);

/// 16 hexadecimal digits that no other process and no other call has.
std::string randomName();

/// Whether `name` is `prefix` and what randomName() makes.
bool hasRandomName(const std::string &name, const std::string &prefix);

} // namespace honert

#endif // HONERT_BASE_FILELOCK_H
