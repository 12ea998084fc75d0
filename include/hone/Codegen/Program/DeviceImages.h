//===- DeviceImages.h - Device code inside a program ------------*- C++ -*-===//

#ifndef HONE_CODEGEN_PROGRAM_DEVICEIMAGES_H
#define HONE_CODEGEN_PROGRAM_DEVICEIMAGES_H

#include "hone/Plan/AbiNumbers.h"

#include "mlir/IR/BuiltinOps.h"

namespace hone {

/// The function `(program)` by which @hone_program tells the runtime of its
/// device code. hone-lower-to-kernels declares it: the code comes later.
constexpr llvm::StringLiteral deviceImagesName = "hone_device_images";

/// Code of all kernels of a program.
struct DeviceImage {
  abi::CodeKind kind;
  int64_t arch; ///< 80 for sm_80
  std::string bytes;
};

/// Defines that function in `module`, with the images as constants.
void defineDeviceImages(mlir::ModuleOp module,
                        llvm::ArrayRef<DeviceImage> images);

} // namespace hone

#endif // HONE_CODEGEN_PROGRAM_DEVICEIMAGES_H
