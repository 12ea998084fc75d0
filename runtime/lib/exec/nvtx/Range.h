//===- Range.h - Named ranges for a profiler ------------------------------===//

#ifndef HONERT_EXEC_NVTX_RANGE_H
#define HONERT_EXEC_NVTX_RANGE_H

#include <string>

namespace honert {

/// While it lives, a range on the calling thread's timeline in a profiler such
/// as Nsight Systems, in the domain "hone". Ranges of a thread nest. Without a
/// profiler nothing is loaded, and a range costs a test.
class NvtxRange {
public:
  explicit NvtxRange(const char *name) : isOpen(isProfiled()) {
    if (isOpen)
      push(name);
  }
  explicit NvtxRange(const std::string &name) : NvtxRange(name.c_str()) {}
  /// `makeName()` returns a std::string; it is called for a profiler only.
  template <typename MakeName>
  explicit NvtxRange(MakeName makeName) : isOpen(isProfiled()) {
    if (isOpen)
      push(makeName().c_str());
  }
  ~NvtxRange() {
    if (isOpen)
      pop();
  }
  NvtxRange(const NvtxRange &) = delete;
  NvtxRange &operator=(const NvtxRange &) = delete;

private:
  static bool isProfiled();
  static void push(const char *name);
  static void pop();

  const bool isOpen;
};

} // namespace honert

#endif // HONERT_EXEC_NVTX_RANGE_H
