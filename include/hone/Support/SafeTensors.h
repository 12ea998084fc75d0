//===- SafeTensors.h - Reading tensors of a package -------------*- C++ -*-===//

#ifndef HONE_SUPPORT_SAFETENSORS_H
#define HONE_SUPPORT_SAFETENSORS_H

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"

namespace hone {

/// A safetensors file whose header was checked: every tensor lies inside the
/// file and has the bytes that its type and shape ask for.
class SafeTensors {
public:
  /// Opens and checks `path`; the error names file, value seen, value expected.
  static llvm::Expected<SafeTensors> open(llvm::StringRef path);

  /// Bytes of the tensor `name`, which must have `type`; row-major and
  /// little-endian.
  llvm::Expected<llvm::StringRef> bytes(llvm::StringRef name,
                                        mlir::RankedTensorType type) const;
  /// The same for a tensor whose type the caller does not know.
  llvm::Expected<llvm::StringRef> bytes(llvm::StringRef name) const;

private:
  struct Entry {
    std::string dtype;
    llvm::SmallVector<int64_t> shape;
    llvm::StringRef data;
  };

  std::string path;
  std::unique_ptr<llvm::MemoryBuffer> buffer;
  llvm::StringMap<Entry> entries;
};

} // namespace hone

#endif // HONE_SUPPORT_SAFETENSORS_H
