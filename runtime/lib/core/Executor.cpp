//===- Executor.cpp - Runs the functions of a program ---------------------===//

#include "core/Executor.h"

using namespace honert;

Executor::~Executor() = default;
