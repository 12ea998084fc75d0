//===- Image.cpp - The program's kernels on a GPU -------------------------===//

#include "exec/cuda/core/Image.h"

using namespace honert;

std::vector<const DeviceCode *>
honert::chooseImages(const std::vector<DeviceCode> &images, int arch) {
  const DeviceCode *machine = nullptr, *ptx = nullptr;
  for (const DeviceCode &image : images) {
    if (image.kind == CodeKind::machine && image.arch == arch)
      machine = &image;
    if (image.kind == CodeKind::ptx && image.arch <= arch &&
        (!ptx || image.arch > ptx->arch))
      ptx = &image;
  }
  std::vector<const DeviceCode *> chosen;
  for (const DeviceCode *image : {machine, ptx})
    if (image)
      chosen.push_back(image);
  return chosen;
}

/// "PTX of sm_80, machine code of sm_90"
static std::string listOf(const std::vector<DeviceCode> &images) {
  std::string text;
  for (const DeviceCode &image : images)
    text += format("%s%s of sm_%lld", text.empty() ? "" : ", ",
                   image.kind == CodeKind::ptx ? "PTX" : "machine code",
                   static_cast<long long>(image.arch));
  return text;
}

KernelImage::~KernelImage() {
  if (module)
    (void)owner->functions().cuModuleUnload(module);
}

/// The error of an image that the driver does not take, with the first line of
/// what its translator wrote.
Status KernelImage::refused(CUresult result, const DeviceCode &image,
                            const char *log) {
  std::string first(log);
  first.resize(std::min(first.find('\n'), first.size()));
  std::string what = format("device code (%s) on GPU %s",
                            listOf({image}).c_str(), owner->text().c_str());
  if (!first.empty())
    what += ": " + first;
  return owner->check(result, what);
}

Status KernelImage::load(const Device &device,
                         const std::vector<DeviceCode> &images) {
  owner = &device;
  Status loaded = Status::error(
      format("GPU %s is sm_%d; the program has %s: compile it for this "
             "architecture",
             device.name().c_str(), device.arch(), listOf(images).c_str()));
  for (const DeviceCode *image : chooseImages(images, device.arch()))
    if (loaded = loadImage(*image); loaded.ok())
      break;
  return loaded;
}

Status KernelImage::loadImage(const DeviceCode &image) {
  // The driver reads PTX up to a zero.
  std::string text;
  const char *data = image.data;
  if (image.kind == CodeKind::ptx) {
    text.assign(image.data, static_cast<size_t>(image.bytes));
    data = text.c_str();
  }
  char log[4096] = "";
  CUjit_option names[] = {CU_JIT_ERROR_LOG_BUFFER,
                          CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void *values[] = {log, reinterpret_cast<void *>(sizeof log)};
  CUresult result =
      owner->functions().cuModuleLoadDataEx(&module, data, 2, names, values);
  if (result == CUDA_SUCCESS)
    return Status();
  module = nullptr;
  log[sizeof log - 1] = '\0';
  return refused(result, image, log);
}

Status KernelImage::load(const std::string &kernel, CUfunction &function) {
  const DriverFunctions &driver = owner->functions();
  std::string what = format("kernel %s", kernel.c_str());
  HONERT_TRY(owner->check(
      driver.cuModuleGetFunction(&function, module, kernel.c_str()), what));
  int registers = 0; // which are known of code that is on the GPU
  return owner->check(driver.cuFuncGetAttribute(
                          &registers, CU_FUNC_ATTRIBUTE_NUM_REGS, function),
                      what);
}

Status KernelImage::find(const std::string &kernel, CUfunction &function) {
  auto [entry, isNew] = kernels.try_emplace(kernel, nullptr);
  if (isNew)
    HONERT_TRY(load(kernel, entry->second));
  function = entry->second;
  return Status();
}
