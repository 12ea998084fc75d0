//===- PublishState.cpp - State between host and program ------------------===//

#include "train/PublishState.h"
#include "train/WorkingCopies.h"

#include <algorithm>

using namespace honert;

Status honert::publishState(const Program &program, Executor &executor,
                            const std::vector<const Argument *> &zeros) {
  for (const Argument &argument : program.arguments)
    if ((argument.isState() || isRounded(program, argument)) &&
        std::find(zeros.begin(), zeros.end(), &argument) == zeros.end())
      HONERT_TRY(executor.publish(argument.offset, argument.bytes));
  return makeCodes(program, executor);
}

Status honert::makeCodes(const Program &program, Executor &executor) {
  const Function *fill = program.function("fill_codes");
  if (!fill)
    return Status();
  HONERT_TRY(executor.run(*fill));
  return executor.wait();
}

Status honert::zeroState(Executor &executor,
                         const std::vector<const Argument *> &zeros) {
  for (const Argument *argument : zeros)
    HONERT_TRY(executor.zero(argument->offset, argument->bytes));
  return Status();
}

Status honert::fetchState(const Program &program, Executor &executor) {
  for (const Argument &argument : program.arguments)
    if (argument.isState())
      HONERT_TRY(executor.fetch(argument.offset, argument.bytes));
  return Status();
}

void honert::forgetState(const Program &program, Executor &executor) {
  for (const Argument &argument : program.arguments)
    if (argument.isState())
      executor.forget(argument.offset, argument.bytes);
}
