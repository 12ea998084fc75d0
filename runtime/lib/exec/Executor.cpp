//===- Executor.cpp - Runs the functions of a program ---------------------===//

#include "exec/Executor.h"

using namespace honert;

Executor::~Executor() = default;
