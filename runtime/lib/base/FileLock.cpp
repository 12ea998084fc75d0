//===- FileLock.cpp - Locks that end with their process -------------------===//

#include "base/FileLock.h"
#include "base/Status.h"

#include <cerrno>
#include <chrono>
#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

using namespace honert;

FileLock honert::lockFile(int descriptor) {
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  int result;
  do
    result = fcntl(descriptor, F_OFD_SETLK, &lock);
  while (result != 0 && errno == EINTR);
  if (result == 0)
    return FileLock::held;
  return errno == EAGAIN || errno == EACCES ? FileLock::heldByOther
                                            : FileLock::unsupported;
}

std::string honert::randomName() {
  uint64_t value = 0;
  // Only an old kernel, early in its life, has no random numbers.
  if (getrandom(&value, sizeof value, GRND_NONBLOCK) != sizeof value) {
    static uint64_t calls = 0;
    auto now = std::chrono::steady_clock::now().time_since_epoch().count();
    value = static_cast<uint64_t>(now) * 0x9E3779B97F4A7C15 +
            static_cast<uint64_t>(getpid()) * 0xC2B2AE3D27D4EB4F + ++calls;
  }
  return format("%016llx", static_cast<unsigned long long>(value));
}

bool honert::hasRandomName(const std::string &name, const std::string &prefix) {
  return name.size() == prefix.size() + 16 &&
         name.compare(0, prefix.size(), prefix) == 0 &&
         name.find_first_not_of("0123456789abcdef", prefix.size()) == name.npos;
}
