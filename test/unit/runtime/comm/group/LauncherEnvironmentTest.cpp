//===- LauncherEnvironmentTest.cpp - How processes were started -----------===//

#include "comm/group/LauncherEnvironment.h"

#include <gtest/gtest.h>
#include <map>

using namespace honert;

namespace {

using Variables = std::map<std::string, std::string>;

Status find(const Variables &variables, LauncherEnvironment &place) {
  return readLauncherEnvironment(
      [&](const char *name) {
        auto found = variables.find(name);
        return found == variables.end() ? nullptr : found->second.c_str();
      },
      place);
}

std::string placeText(const Variables &variables) {
  LauncherEnvironment place;
  Status status = find(variables, place);
  return status.ok() ? place.launcher + " " + std::to_string(place.rank) + "/" +
                           std::to_string(place.size) + " " +
                           std::to_string(place.localRank)
                     : status.message();
}

const Variables mpirun = {{"OMPI_COMM_WORLD_RANK", "3"},
                          {"OMPI_COMM_WORLD_SIZE", "8"},
                          {"OMPI_COMM_WORLD_LOCAL_RANK", "1"}};

Variables with(Variables variables, const Variables &more) {
  for (const auto &[name, value] : more)
    variables[name] = value;
  return variables;
}

TEST(LauncherEnvironmentTest, every_launcher_is_understood) {
  EXPECT_EQ(placeText({}), " 0/1 0");
  EXPECT_EQ(placeText(mpirun), "mpirun 3/8 1");
  EXPECT_EQ(
      placeText({{"RANK", "2"}, {"WORLD_SIZE", "4"}, {"LOCAL_RANK", "0"}}),
      "torchrun 2/4 0");
  EXPECT_EQ(placeText({{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}}), "PMI 1/2 0");
  EXPECT_EQ(placeText({{"SLURM_PROCID", "5"},
                       {"SLURM_STEP_NUM_TASKS", "6"},
                       {"SLURM_LOCALID", "2"}}),
            "srun 5/6 2");
}

TEST(LauncherEnvironmentTest, half_of_a_place_is_none) {
  EXPECT_EQ(placeText({{"RANK", "captain"}}), " 0/1 0");
  EXPECT_EQ(placeText({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}}),
            " 0/1 0"); // a batch script
}

TEST(LauncherEnvironmentTest, srun_may_have_started_the_launcher) {
  EXPECT_EQ(placeText(with(mpirun, {{"SLURM_PROCID", "1"},
                                    {"SLURM_STEP_NUM_TASKS", "2"}})),
            "mpirun 3/8 1");
}

/// As `for node: srun -N1 torchrun --node_rank=...` does.
TEST(LauncherEnvironmentTest, a_run_may_be_of_several_steps_of_srun) {
  auto run = [](const Variables &variables) {
    LauncherEnvironment place;
    EXPECT_TRUE(find(variables, place).ok());
    return place.run;
  };
  auto stepOf = [](const char *step) {
    return Variables{{"SLURM_JOB_ID", "7"},
                     {"SLURM_STEP_ID", step},
                     {"SLURM_PROCID", "0"},
                     {"SLURM_STEP_NUM_TASKS", "1"}};
  };
  const Variables torchrun = {{"RANK", "1"}, {"WORLD_SIZE", "2"}};
  EXPECT_EQ(run(with(stepOf("0"), torchrun)), run(with(stepOf("1"), torchrun)));
  EXPECT_NE(run(with(stepOf("0"), torchrun)),
            run(with(with(stepOf("0"), torchrun), {{"SLURM_JOB_ID", "8"}})));
  EXPECT_NE(run(stepOf("0")), run(stepOf("1")));
}

TEST(LauncherEnvironmentTest, launchers_must_not_contradict_each_other) {
  EXPECT_EQ(placeText(with(mpirun, {{"RANK", "3"}, {"WORLD_SIZE", "8"}})),
            "mpirun 3/8 1");
  EXPECT_EQ(placeText(with(mpirun, {{"RANK", "0"}, {"WORLD_SIZE", "1"}})),
            "mpirun says rank 3 of 8, but torchrun (RANK, WORLD_SIZE) rank 0 "
            "of 1; expected one launcher, or the same from both");
}

TEST(LauncherEnvironmentTest, numbers_must_be_numbers) {
  EXPECT_EQ(placeText(with(mpirun, {{"OMPI_COMM_WORLD_RANK", "8"}})),
            "OMPI_COMM_WORLD_RANK: '8' in the environment, expected a whole "
            "number from 0 to 7");
  EXPECT_EQ(placeText({{"RANK", ""}, {"WORLD_SIZE", "2"}}),
            "RANK: '' in the environment, expected a whole number from 0 to 1");
  EXPECT_EQ(placeText({{"MASTER_PORT", "70000"}}),
            "MASTER_PORT: '70000' in the environment, expected a whole number "
            "from 1 to 65535");
}

TEST(LauncherEnvironmentTest, the_machine_is_shared_as_far_as_it_is_told) {
  LauncherEnvironment place;
  ASSERT_TRUE(find(mpirun, place).ok());
  EXPECT_EQ(place.localSize, 1);
  ASSERT_TRUE(
      find(with(mpirun, {{"OMPI_COMM_WORLD_LOCAL_SIZE", "4"}}), place).ok());
  EXPECT_EQ(place.localSize, 4);
  EXPECT_EQ(placeText(with(mpirun, {{"OMPI_COMM_WORLD_LOCAL_SIZE", "9"}})),
            "OMPI_COMM_WORLD_LOCAL_SIZE: '9' in the environment, expected a "
            "whole number from 1 to 8");
}

TEST(LauncherEnvironmentTest, an_address_comes_with_it) {
  LauncherEnvironment place;
  ASSERT_TRUE(
      find({{"MASTER_ADDR", "node0"}, {"MASTER_PORT", "29500"}}, place).ok());
  EXPECT_EQ(place.masterAddress, "node0");
  EXPECT_EQ(place.masterPort, 29500);
}

} // namespace
