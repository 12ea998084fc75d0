//===- MappedRanges.h - Mapped files that change while they are read ------===//
//
// A file that becomes shorter, or whose disk fails, is a SIGBUS to who reads
// its mapping. The handler of that signal (base/Signals) puts zeros in place of
// what is left of the mapping and the reader goes on; before what was read is
// used, check() tells that it is not the file.
//
//===----------------------------------------------------------------------===//

#ifndef HONERT_BASE_MAPPEDRANGES_H
#define HONERT_BASE_MAPPEDRANGES_H

#include "base/Status.h"

#include <cstdint>

namespace honert::mapped_ranges {

/// Remembers a mapping of all `bytes` bytes of the file `path`, which stays
/// open as `descriptor`. Returns its slot, or -1 where there are more than are
/// remembered.
int add(const char *begin, int64_t bytes, const std::string &path,
        int descriptor);
/// Before the mapping in `slot` (of add()) ends.
void remove(int slot);

/// Puts zeros into the mapping around `address` from its page on. False: the
/// address is in no mapping of add(). For signal handlers.
bool replaceBroken(void *address);

/// An error that names the file if one has broken since the process started,
/// or one that is mapped has another size, or was written to, since add(). One
/// system call per mapping.
Status check();

} // namespace honert::mapped_ranges

#endif // HONERT_BASE_MAPPEDRANGES_H
