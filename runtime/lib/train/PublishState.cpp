//===- PublishState.cpp - State between host and program ------------------===//

#include "train/PublishState.h"

#include <algorithm>

using namespace honert;

Status honert::publishState(const Program &program, Executor &executor,
                            const std::vector<const Argument *> &zeros) {
  for (const Argument &argument : program.arguments)
    if ((argument.isState() || argument.kind == Kind::workingCopy) &&
        std::find(zeros.begin(), zeros.end(), &argument) == zeros.end())
      HONERT_TRY(executor.publish(argument.offset, argument.bytes));
  return Status();
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
