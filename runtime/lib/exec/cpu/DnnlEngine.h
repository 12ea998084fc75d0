//===- DnnlEngine.h - The engine of oneDNN, and a stream per thread -------===//

#ifndef HONERT_EXEC_CPU_DNNLENGINE_H
#define HONERT_EXEC_CPU_DNNLENGINE_H

#include "base/Parallel.h"
#include "base/Types.h"
#include "exec/cpu/Dnnl.h"

#include <initializer_list>
#include <string>
#include <vector>

namespace honert {

/// The error of a library call that failed, or success; `name` says of what
/// launch.
Status checkDnnl(dnnl_status_t status, const char *what,
                 const std::string &name);

dnnl_data_type_t dnnlType(DType dtype);

/// The library as all calls of a program share it.
class DnnlEngine {
public:
  explicit DnnlEngine(const ThreadPool &pool) : pool(pool) {}
  ~DnnlEngine();
  DnnlEngine(const DnnlEngine &) = delete;
  DnnlEngine &operator=(const DnnlEngine &) = delete;

  /// Opens the library once.
  Status start();
  dnnl_engine_t handle() const { return engine; }
  /// Whether the library computes bf16 products by the instruction for them. On
  /// AVX-512 without it, it would emulate them at a third of the rate of fp32.
  bool hasBFloatUnits() const;

  /// A tensor of a primitive: which one, how it lies, where; none: absent.
  struct Operand {
    int index;
    const dnnl_memory_desc_t *desc;
    const void *data;
  };
  /// Runs a primitive by stream number `thread`.
  dnnl_status_t execute(dnnl_primitive_t primitive, int thread,
                        std::initializer_list<Operand> operands) const;

  DnnlFunctions dnnl;

private:
  const ThreadPool &pool;
  dnnl_engine_t engine = nullptr;
  std::vector<dnnl_stream_t> streams; // one per thread
};

} // namespace honert

#endif // HONERT_EXEC_CPU_DNNLENGINE_H
