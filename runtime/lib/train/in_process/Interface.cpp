//===- Interface.cpp - honert/trainer.h over StepTrainer ------------------===//

#include "base/Printable.h"
#include "train/in_process/StepTrainer.h"

#include <exception>
#include <limits>
#include <mutex>
#include <new>

using namespace honert;

struct honert_trainer {
  honert_trainer(const Program &program, const honert_trainer_options &options)
      : trainer(program, options) {}

  StepTrainer trainer;
  std::mutex mutex; ///< held by a call
  std::string error, info;
};

/// Runs `body` alone on the trainer; what it returns becomes the code and the
/// line of the call.
template <typename Body> static int guarded(honert_trainer *handle, Body body) {
  std::lock_guard<std::mutex> lock(handle->mutex);
  Status status;
  try {
    status = body(handle->trainer);
  } catch (const std::bad_alloc &) {
    status = Status::error("out of memory");
  } catch (const std::exception &exception) {
    status = Status::error(std::string("internal: ") + exception.what());
  }
  handle->error = status.ok() ? "" : printable(status.message());
  return status.ok() ? 0 : 1;
}

static double orNaN(const std::optional<double> &value) {
  return value.value_or(std::numeric_limits<double>::quiet_NaN());
}

extern "C" {

honert_trainer *honert_trainer_open(honert_program *program,
                                    const honert_trainer_options *options) {
  try {
    auto *handle = new honert_trainer(*program, *options);
    guarded(handle, [](StepTrainer &trainer) { return trainer.open(); });
    return handle;
  } catch (const std::bad_alloc &) {
    return nullptr;
  }
}

void honert_trainer_close(honert_trainer *handle) {
  if (handle && handle->trainer.isOfThisProcess())
    delete handle;
}

const char *honert_trainer_error(const honert_trainer *handle) {
  return handle->error.c_str();
}

const honert_named_tensor *honert_trainer_tensors(const honert_trainer *handle,
                                                  int64_t *count) {
  const auto &tensors = handle->trainer.tensors();
  *count = static_cast<int64_t>(tensors.size());
  return tensors.data();
}

int64_t honert_trainer_steps(const honert_trainer *handle) {
  return handle->trainer.steps();
}

const char *honert_trainer_info(honert_trainer *handle) {
  guarded(handle, [&](StepTrainer &trainer) {
    handle->info = trainer.infoText();
    return Status();
  });
  return handle->info.c_str();
}

int honert_trainer_step(honert_trainer *handle,
                        const honert_tensor *const *inputs, int64_t count,
                        honert_step *facts) {
  return guarded(handle, [&](StepTrainer &trainer) {
    StepFacts seen;
    seen.loss = std::numeric_limits<double>::quiet_NaN();
    Status status = trainer.step(inputs, count, seen);
    *facts = {seen.step,
              seen.loss,
              orNaN(seen.gradNorm),
              orNaN(seen.learningRate),
              orNaN(seen.lossScale),
              seen.skipped};
    return status;
  });
}

int honert_trainer_evaluate(honert_trainer *handle,
                            const honert_tensor *const *inputs, int64_t count,
                            double *loss) {
  return guarded(handle, [&](StepTrainer &trainer) {
    return trainer.evaluate(inputs, count, *loss);
  });
}

int honert_trainer_set(honert_trainer *handle, const char *scalar,
                       double value) {
  return guarded(handle, [&](StepTrainer &trainer) {
    return trainer.setScalar(scalar, value);
  });
}

int honert_trainer_get(honert_trainer *handle, const char *scalar,
                       double *value) {
  return guarded(handle, [&](StepTrainer &trainer) {
    return trainer.getScalar(scalar, *value);
  });
}

int honert_trainer_fetch(honert_trainer *handle, int64_t index) {
  return guarded(handle,
                 [&](StepTrainer &trainer) { return trainer.fetch(index); });
}

int honert_trainer_publish(honert_trainer *handle, int64_t index) {
  return guarded(handle,
                 [&](StepTrainer &trainer) { return trainer.publish(index); });
}

int honert_trainer_load(honert_trainer *handle, const char *path) {
  return guarded(handle,
                 [&](StepTrainer &trainer) { return trainer.load(path); });
}

int honert_trainer_save(honert_trainer *handle, const char *path) {
  return guarded(handle,
                 [&](StepTrainer &trainer) { return trainer.save(path); });
}

int honert_trainer_checkpoint(honert_trainer *handle) {
  return guarded(handle,
                 [](StepTrainer &trainer) { return trainer.checkpoint(); });
}

} // extern "C"
