//===- StepTrainerTest.cpp - honert/trainer.h on a GPU that is none -------===//

#include "honert/trainer.h"
#include "support/CudaFixture.h"

#include <cstring>

using test::CudaProgram;
using test::TinyModel;

namespace {

class CudaStepTrainer : public test::Cuda {
protected:
  /// Losses of `steps` steps that all see the same batch.
  static std::vector<double> train(honert_trainer *trainer, int steps) {
    std::vector<int64_t> ids(16);
    for (size_t i = 0; i != ids.size(); ++i)
      ids[i] = static_cast<int64_t>(i * i % 32);
    int64_t dims[] = {2, 8};
    honert_tensor tensor = {ids.data(), 1, 0, 2, 0, 64, 1, dims, nullptr, 0};
    const honert_tensor *inputs[] = {&tensor, &tensor};
    std::vector<double> losses;
    for (int step = 0; step != steps; ++step) {
      honert_step facts;
      EXPECT_EQ(honert_trainer_step(trainer, inputs, 2, &facts), 0)
          << honert_trainer_error(trainer);
      losses.push_back(facts.loss);
    }
    return losses;
  }

  static int64_t indexOf(honert_trainer *trainer, const char *name) {
    int64_t count;
    const honert_named_tensor *all = honert_trainer_tensors(trainer, &count);
    for (int64_t i = 0; i != count; ++i)
      if (!std::strcmp(all[i].name, name))
        return i;
    return -1;
  }
};

TEST_F(CudaStepTrainer, equals_the_host) {
  TinyModel model;
  model.noise = 0.1;
  honert_trainer_options options = {};
  test::ProgramPtr host = test::makeProgram();
  test::describe(model, host.get());
  CudaProgram gpu(model);
  honert_trainer *onHost = honert_trainer_open(host.get(), &options),
                 *onGpu = honert_trainer_open(gpu.get(), &options);
  ASSERT_STREQ(honert_trainer_error(onGpu), "");
  EXPECT_EQ(train(onGpu, 5), train(onHost, 5));

  // Values come when they are fetched, and go back when they are published.
  int64_t table = indexOf(onGpu, "table"), count;
  const honert_tensor &tensor =
      honert_trainer_tensors(onGpu, &count)[table].tensor;
  EXPECT_EQ(tensor.device, 2);
  ASSERT_EQ(honert_trainer_fetch(onGpu, table), 0);
  const honert_tensor &expected =
      honert_trainer_tensors(onHost, &count)[table].tensor;
  EXPECT_EQ(std::memcmp(tensor.data, expected.data, 32 * 32 * 4), 0);
  for (honert_trainer *trainer : {onGpu, onHost}) {
    auto *values = static_cast<float *>(
        honert_trainer_tensors(trainer, &count)[table].tensor.data);
    values[0] = 3;
    ASSERT_EQ(honert_trainer_publish(trainer, table), 0);
  }
  EXPECT_EQ(train(onGpu, 5), train(onHost, 5));

  std::string saved = folder / "gpu", other = folder / "host";
  ASSERT_EQ(honert_trainer_save(onGpu, saved.c_str()), 0);
  ASSERT_EQ(honert_trainer_save(onHost, other.c_str()), 0);
  EXPECT_EQ(test::readFile(saved), test::readFile(other));
  ASSERT_EQ(honert_trainer_load(onGpu, saved.c_str()), 0);
  EXPECT_EQ(train(onGpu, 3), train(onHost, 3));
  honert_trainer_close(onGpu);
  honert_trainer_close(onHost);
}

} // namespace
