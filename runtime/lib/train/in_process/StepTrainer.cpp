//===- StepTrainer.cpp - Training whose loop is the caller's --------------===//

#include "train/in_process/StepTrainer.h"
#include "comm/host/SingleProcess.h"
#include "train/CheckMachine.h"
#include "train/Info.h"
#include "train/MakeExecutor.h"
#include "train/PublishState.h"
#include "train/WorkingCopies.h"

#include <cmath>
#include <sys/stat.h>
#include <unistd.h>

using namespace honert;

static std::string orEmpty(const char *text) { return text ? text : ""; }

StepTrainer::StepTrainer(const Program &program,
                         const honert_trainer_options &options)
    : program(program), init(orEmpty(options.init)),
      checkpointPath(orEmpty(options.checkpoints)), isFresh(options.fresh),
      resumes(options.resume), isDeterministic(options.deterministic),
      threads(options.threads > 0 ? static_cast<int>(options.threads)
                                  : availableCores()),
      seed(static_cast<uint64_t>(options.seed)), inputs(program),
      process(getpid()) {
  for (const char *name : {"lr", "weight_decay", "clip"})
    scalars.push_back(
        {name, program.number(name, 0),
         program.numbers.count(name) > 0 || std::string(name) != "lr"});
}

//===----------------------------------------------------------------------===//
// Start
//===----------------------------------------------------------------------===//

static int64_t bytesOfFile(const std::string &path) {
  struct stat facts;
  return stat(path.c_str(), &facts) == 0 ? facts.st_size : 0;
}

Status StepTrainer::open() {
  CallerThread caller;
  if (int64_t ranks = program.mesh.ranks(); ranks > 1)
    return Status::error(
        format("this program is made for %lld ranks (%s), expected one in a "
               "process of yours: an executable (honec --emit=exe) runs with "
               "mpirun",
               static_cast<long long>(ranks), program.mesh.text().c_str()));
  if (isFresh && !init.empty())
    return Status::error("fresh: given with init, expected one of them");
  if (resumes && checkpointPath.empty())
    return Status::error("resume: given without a folder of checkpoints");
  HONERT_TRY(program.check());
  HONERT_TRY(checkMachine(program, {}, threads, bytesOfFile(init)));
  pool.emplace(threads);
  world = makeSingleProcess();
  executor = makeExecutor(program, *pool, isDeterministic, world.get());
  HONERT_TRY(executor->start());
  // Workers that load data are children of this process.
  executor->arena().keepFromChildren();
  HONERT_TRY(startOrResume());
  listTensors();
  isOpen = true;
  return Status();
}

Status StepTrainer::startOrResume() {
  std::vector<const Argument *> zeros;
  std::optional<RunPosition> position;
  if (!checkpointPath.empty()) {
    checkpoints.emplace(checkpointPath, program, *world);
    HONERT_TRY(checkpoints->open(resumes));
    if (resumes)
      HONERT_TRY(checkpoints->restore(executor->arena(), position));
  }
  if (position) {
    seed = position->seed;
    doneSteps = position->step;
  } else {
    std::string origin;
    HONERT_TRY(startState({init, isFresh}, program, *world, seed, *pool,
                          executor->arena(), origin, zeros));
  }
  fillWorkingCopies(program, *pool, executor->arena());
  HONERT_TRY(zeroState(*executor, zeros));
  return publishState(program, *executor, zeros);
}

/// One tensor of files is a box of its argument.
void StepTrainer::addState(const Argument &argument) {
  Shape strides(argument.dims.size(), 1);
  for (size_t dim = strides.size(); dim-- > 1;)
    strides[dim - 1] = strides[dim] * argument.dims[dim];
  for (const Part &part : argument.parts) {
    StateTensor &added = state.emplace_back();
    added = {&argument, &part, "", strides};
    for (const std::string &alias : argument.aliases)
      added.aliases += alias + "\n";
  }
}

void StepTrainer::listTensors() {
  for (const Argument *input : inputs.arguments()) {
    honert_named_tensor &tensor = named.emplace_back();
    tensor = {input->fqn.c_str(), "", static_cast<int64_t>(input->kind), {}};
    describeTensor(input->dtype, input->whole, tensor.tensor);
  }
  for (Kind kind : {Kind::param, Kind::buffer, Kind::opt})
    for (const Argument &argument : program.arguments)
      if (argument.kind == kind && !argument.isConstant())
        addState(argument);
  for (const StateTensor &each : state) { // whose addresses stay from now on
    const Argument &argument = *each.argument;
    honert_named_tensor &tensor = named.emplace_back();
    tensor = {each.part->name.c_str(),
              each.aliases.c_str(),
              static_cast<int64_t>(argument.kind),
              {}};
    describeTensor(argument.dtype, each.part->shape, tensor.tensor);
    tensor.tensor.device = program.isForCuda() ? gpuDevice : hostDevice;
    tensor.tensor.data = executor->arena().at(argument.offset);
    tensor.tensor.strides = each.strides.data();
    int64_t first = 0;
    for (size_t dim = 0; dim != each.strides.size(); ++dim)
      first += each.part->offset[dim] * each.strides[dim];
    tensor.tensor.byte_offset =
        static_cast<uint64_t>(first * byteWidth(argument.dtype));
  }
}

bool StepTrainer::isOfThisProcess() const { return getpid() == process; }

Status StepTrainer::checkIsOpen() const {
  if (!isOpen)
    return Status::error("this trainer was not opened, see its error");
  if (isOfThisProcess())
    return Status();
  return Status::error(format("this trainer is of process %d, expected a call "
                              "from there: make one after the fork()",
                              process));
}

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

Status StepTrainer::findScalar(const std::string &name, Scalar *&scalar) {
  scalar = nullptr;
  std::string known;
  for (Scalar &each : scalars)
    if (program.argument(Kind::scalar, each.name)) {
      known += (known.empty() ? "" : ", ") + std::string(each.name);
      if (name == each.name)
        scalar = &each;
    }
  if (scalar)
    return Status();
  return Status::error(
      format("'%s': this program has no such scalar that could be set, "
             "expected one of its own (%s)",
             name.c_str(), known.empty() ? "there is none" : known.c_str()));
}

Status StepTrainer::setScalar(const std::string &name, double value) {
  Scalar *scalar;
  HONERT_TRY(findScalar(name, scalar));
  bool isBound = name == "clip" && value > 0; // which may be infinite
  if (std::isnan(value) || value < 0 || (std::isinf(value) && !isBound))
    return Status::error(
        format("%s: is %g, expected a number >= 0", name.c_str(), value));
  *scalar = {scalar->name, value, true};
  return Status();
}

Status StepTrainer::getScalar(const std::string &name, double &value) {
  Scalar *scalar;
  HONERT_TRY(findScalar(name, scalar));
  value = scalar->value;
  return Status();
}

void StepTrainer::writeScalars(int64_t step) {
  Arena &arena = executor->arena();
  for (const Scalar &scalar : scalars)
    if (std::string(scalar.name) == "clip")
      writeClip(program, arena, scalar.value);
    else
      writeScalar(program, arena, scalar.name, scalar.value);
  writeScalar(program, arena, "step", static_cast<double>(step));
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

/// Codes of parameters that were published since the last step.
Status StepTrainer::renewCodes() {
  if (!haveCodes)
    HONERT_TRY(makeCodes(program, *executor));
  haveCodes = true;
  return Status();
}

/// Runs what a step consists of; it has happened when this returns success.
Status StepTrainer::runStep(const honert_tensor *const *tensors, int64_t step) {
  Arena &arena = executor->arena();
  int64_t count = program.microBatches();
  HONERT_TRY(renewCodes());
  writeScalars(step);
  if (const Function *function = program.function("step")) {
    HONERT_TRY(inputs.load(tensors, 0, count, arena));
    writeKey(program, arena, seed, step, 0);
    HONERT_TRY(executor->run(*function));
    return executor->wait();
  }
  for (const Argument &argument : program.arguments)
    if (argument.kind == Kind::grad || program.isRunning(argument))
      HONERT_TRY(executor->zero(argument.offset, argument.bytes));
  for (int64_t micro = 0; micro < count; ++micro) {
    HONERT_TRY(inputs.load(tensors, micro, count, arena));
    writeKey(program, arena, seed, step, micro);
    HONERT_TRY(executor->run(*program.function("accumulate")));
  }
  HONERT_TRY(executor->run(*program.function("update")));
  return executor->wait();
}

Status StepTrainer::step(const honert_tensor *const *tensors, int64_t count,
                         StepFacts &facts) {
  HONERT_TRY(checkIsOpen());
  HONERT_TRY(inputs.check(tensors, count, program.microBatches()));
  Scalar &rate = scalars.front();
  bool hasRate = program.argument(Kind::scalar, rate.name);
  if (hasRate && !rate.isGiven)
    return Status::error("lr: not given, expected a learning rate (the program "
                         "has no default)");
  CallerThread caller;
  pool->enter();
  int64_t step = doneSteps + 1;
  HONERT_TRY(runStep(tensors, step));
  doneSteps = facts.step = step;
  if (hasRate)
    facts.learningRate = rate.value;
  readFacts(program, executor->arena(), facts);
  const Function *last = program.function("step");
  HONERT_TRY(checkIds(program, executor->arena(),
                      last ? *last : *program.function("update"), "step", step,
                      "the weights have been changed by it"));
  return checkStep(program, executor->arena(), facts, "");
}

Status StepTrainer::evaluate(const honert_tensor *const *tensors, int64_t count,
                             double &loss) {
  HONERT_TRY(checkIsOpen());
  const Function *function = program.function("evaluate");
  if (!function)
    return Status::error("this program cannot validate (it has no function "
                         "'evaluate')");
  HONERT_TRY(inputs.check(tensors, count, 1));
  CallerThread caller;
  pool->enter();
  Arena &arena = executor->arena();
  HONERT_TRY(renewCodes());
  HONERT_TRY(inputs.load(tensors, 0, 1, arena));
  HONERT_TRY(executor->run(*function));
  HONERT_TRY(executor->wait());
  const Result *result = function->result("loss");
  loss = loadElement(result->dtype, arena.at(result->offset));
  return checkIds(program, arena, *function, "evaluation after step", doneSteps,
                  "");
}

//===----------------------------------------------------------------------===//
// State
//===----------------------------------------------------------------------===//

Status StepTrainer::findState(int64_t index, const Argument *&argument) const {
  int64_t number = index - static_cast<int64_t>(inputs.arguments().size());
  if (number < 0 || number >= static_cast<int64_t>(state.size()))
    return Status::error(format("tensor %lld: expected one of the state",
                                static_cast<long long>(index)));
  argument = state[static_cast<size_t>(number)].argument;
  return Status();
}

Status StepTrainer::fetch(int64_t index) {
  HONERT_TRY(checkIsOpen());
  const Argument *argument;
  HONERT_TRY(findState(index, argument));
  return executor->fetch(argument->offset, argument->bytes);
}

Status StepTrainer::publish(int64_t index) {
  HONERT_TRY(checkIsOpen());
  const Argument *argument;
  HONERT_TRY(findState(index, argument));
  CallerThread caller;
  pool->enter();
  if (const Argument *copy =
          fillWorkingCopy(program, *argument, *pool, executor->arena()))
    HONERT_TRY(executor->publish(copy->offset, copy->bytes));
  haveCodes &= argument->kind != Kind::param;
  return executor->publish(argument->offset, argument->bytes);
}

Status StepTrainer::load(const std::string &path) {
  HONERT_TRY(checkIsOpen());
  CallerThread caller;
  pool->enter();
  // What the file may leave out is published as it was.
  HONERT_TRY(fetchState(program, *executor));
  Filled filled;
  HONERT_TRY(loadWeights(path, program, *world, executor->arena(), filled));
  fillWorkingCopies(program, *pool, executor->arena());
  return publishState(program, *executor);
}

Status StepTrainer::save(const std::string &path) {
  HONERT_TRY(checkIsOpen());
  HONERT_TRY(fetchState(program, *executor));
  Status saved = saveWeights(path, program, *world, executor->arena(),
                             {{"step", std::to_string(doneSteps)},
                              {"seed", std::to_string(seed)},
                              {"fingerprint", program.text("fingerprint")}});
  forgetState(program, *executor);
  return saved;
}

Status StepTrainer::checkpoint() {
  HONERT_TRY(checkIsOpen());
  if (!checkpoints)
    return Status::error("checkpoint: this trainer was opened without a folder "
                         "of checkpoints");
  RunPosition position;
  position.step = doneSteps;
  position.microStep = doneSteps * program.microBatches();
  position.seed = seed;
  HONERT_TRY(fetchState(program, *executor));
  Status saved = checkpoints->save(position, executor->arena());
  forgetState(program, *executor);
  return saved;
}

std::string StepTrainer::infoText() const {
  return executor ? honert::infoText(program, *executor, "") : "";
}
