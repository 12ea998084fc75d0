//===- Help.cpp - The text of --help --------------------------------------===//

#include "train/options/Flags.h"

using namespace honert;

/// What a run of `program` has to be given.
static std::string neededFlags(const Program &program) {
  std::string text = program.input(Role::tokens) ? " --data FILE" : "";
  for (const Argument &argument : program.arguments)
    if (argument.kind == Kind::input && argument.role == Role::none)
      text += " --input " + argument.fqn + "=FILE.npy";
  return text;
}

std::string honert::helpText(const char *programName, const Program &program) {
  Options ignored;
  std::string text = format("usage: %s%s [flags]\n"
                            "Trains the compiled model. Flags are written "
                            "--flag VALUE or --flag=VALUE.\n\n",
                            programName, neededFlags(program).c_str());
  for (const Flag &flag : makeFlags(ignored)) {
    std::string left = std::string("--") + flag.name;
    if (flag.otherwise)
      left += std::string(" [") + flag.valueName + "]";
    else if (flag.valueName)
      left += std::string(" ") + flag.valueName;
    text += format("  %-24s  %s\n", left.c_str(), flag.help);
  }
  return text +
         "\nStep s trains with rate lr * s / warmup while s <= warmup. Batches "
         "follow the stream in order;\nat its end they start over. A loss or "
         "norm that is not finite ends the run with exit code 1\nand nothing "
         "is saved. SIGINT, SIGTERM, SIGHUP and SIGUSR1 end it after the step, "
         "saving as at the end;\na second SIGINT or SIGTERM ends it at once.\n"
         "Exit codes: 0 when all steps are done, 1 after an error, 2 for a "
         "wrong command line, 128 + N when\nsignal N ended the run after "
         "saving (130 SIGINT, 143 SIGTERM, 129 SIGHUP, 138 SIGUSR1).\n";
}
