//===- Image.h - The program's kernels on a GPU ---------------------------===//

#ifndef HONERT_EXEC_CUDA_CORE_IMAGE_H
#define HONERT_EXEC_CUDA_CORE_IMAGE_H

#include "exec/cuda/core/Device.h"
#include "program/Program.h"

namespace honert {

/// Which of a program's images an architecture runs, the best first: machine
/// code of the very architecture, then the PTX of the latest one that is not
/// later.
std::vector<const DeviceCode *>
chooseImages(const std::vector<DeviceCode> &images, int arch);

/// The program's device code, loaded, and its kernels by name.
class KernelImage {
public:
  KernelImage() = default;
  ~KernelImage();
  KernelImage(const KernelImage &) = delete;
  KernelImage &operator=(const KernelImage &) = delete;

  /// Loads an image for `device`. Machine code may be too new for a driver that
  /// still reads the PTX; that it translates, which may take seconds the first
  /// time, and keeps the result. Errors: no image for this GPU; the driver
  /// refuses the last.
  Status load(const Device &device, const std::vector<DeviceCode> &images);
  /// Looks a kernel up and loads it, once per name: a driver may do that at the
  /// first launch otherwise.
  Status find(const std::string &kernel, CUfunction &function);

private:
  Status loadImage(const DeviceCode &image);
  Status load(const std::string &kernel, CUfunction &function);
  Status refused(CUresult result, const DeviceCode &image, const char *log);

  const Device *owner = nullptr;
  CUmodule module = nullptr;
  std::map<std::string, CUfunction> kernels;
};

} // namespace honert

#endif // HONERT_EXEC_CUDA_CORE_IMAGE_H
