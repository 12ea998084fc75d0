//===- DeviceImages.cpp - Device code inside a program --------------------===//

#include "hone/Codegen/Program/DeviceImages.h"

#include "Writer.h"

using namespace mlir;
using namespace hone;

void hone::defineDeviceImages(ModuleOp module, ArrayRef<DeviceImage> images) {
  if (Operation *declared = module.lookupSymbol(deviceImagesName))
    declared->erase();
  ProgramWriter writer(module, deviceImagesName);
  for (const DeviceImage &image : images)
    writer.call("honert_device_code",
                {writer.integer(int64_t(image.kind)),
                 writer.integer(image.arch), writer.string(image.bytes),
                 writer.integer(image.bytes.size())});
  writer.finish();
}
