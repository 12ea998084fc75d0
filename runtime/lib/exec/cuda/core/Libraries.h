//===- Libraries.h - Where vendor functions come from ---------------------===//

#ifndef HONERT_EXEC_CUDA_CORE_LIBRARIES_H
#define HONERT_EXEC_CUDA_CORE_LIBRARIES_H

#include <string>

namespace honert {

/// A shared library, or what the executable emulates it with: one that defines
/// `void *honert_emulated_library(const char *library, const char *symbol)`
/// is asked for every symbol, and no library is opened (lib/fake).
class VendorLibrary {
public:
  /// Opens it; stays open until the process ends.
  bool open(const char *name);
  /// The address of a function, or null.
  void *find(const char *symbol) const;

private:
  const char *name = nullptr;
  void *handle = nullptr;
};

/// Why the latest open() failed.
std::string libraryError();

} // namespace honert

#endif // HONERT_EXEC_CUDA_CORE_LIBRARIES_H
