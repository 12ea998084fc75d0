//===- DeviceImage.h - The program's kernels on a GPU ---------------------===//

#ifndef HONERT_CUDA_DEVICEIMAGE_H
#define HONERT_CUDA_DEVICEIMAGE_H

#include "core/Program.h"
#include "cuda/Device.h"

namespace honert {

/// Which of a program's images an architecture runs: machine code of the very
/// architecture, else the PTX of the latest one that is not later; null: none.
const DeviceCode *chooseImage(const std::vector<DeviceCode> &images, int arch);

/// The program's device code, loaded, and its kernels by name.
class DeviceImage {
public:
  DeviceImage() = default;
  ~DeviceImage();
  DeviceImage(const DeviceImage &) = delete;
  DeviceImage &operator=(const DeviceImage &) = delete;

  /// Loads the image for `device`. PTX is translated by the driver, which may
  /// take seconds the first time; it keeps the result. Errors: no image for
  /// this GPU; the driver refuses it.
  Status load(const Device &device, const std::vector<DeviceCode> &images);
  /// Looks a kernel up, once per name.
  Status find(const std::string &kernel, CUfunction &function);

private:
  Status refused(CUresult result, const DeviceCode &image, const char *log);

  const Device *owner = nullptr;
  CUmodule module = nullptr;
  std::map<std::string, CUfunction> kernels;
};

} // namespace honert

#endif // HONERT_CUDA_DEVICEIMAGE_H
