//===- Dnnl.h - oneDNN, opened when first needed --------------------------===//

#ifndef HONERT_EXEC_CPU_DNNL_H
#define HONERT_EXEC_CPU_DNNL_H

#include "base/Status.h"

#include <oneapi/dnnl/dnnl.h>

namespace honert {

/// The C functions of libdnnl.so.2. A program that multiplies nothing starts on
/// a machine without the library.
struct DnnlFunctions {
#define DNNL_FUNCTION(name) decltype(&::name) name = nullptr;
#include "exec/cpu/Dnnl.def"
#undef DNNL_FUNCTION

  /// Opens the library once; the error says what to install.
  Status open();
  /// "oneDNN 2.6.3"
  std::string versionText() const;

private:
  void *handle = nullptr;
};

} // namespace honert

#endif // HONERT_EXEC_CPU_DNNL_H
