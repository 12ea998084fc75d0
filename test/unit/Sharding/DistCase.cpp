//===- DistCase.cpp - A global function, and its ranks --------------------===//

#include "gtest/gtest.h"

#include "DistCase.h"

#include "hone/Sharding/Passes.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

#include <cmath>

using namespace mlir;
using namespace hone;
using namespace hone::dist;
using namespace hone::interp;

static std::string attributeOf(const Annotations &all, size_t index) {
  return index < all.size()
             ? " {dist.sharding = #dist.sharding<" + all[index] + ">}"
             : "";
}

std::string DistText::str() const {
  std::string text = "dist.mesh @mesh " + mesh + "\nfunc.func @f(";
  for (size_t i = 0; i != arguments.size(); ++i)
    text += (i ? ", %" : "%") + std::to_string(i) + ": " + arguments[i] +
            attributeOf(argumentShardings, i);
  text += ") -> (";
  for (size_t i = 0; i != results.size(); ++i)
    text += (i ? ", " : "") + results[i] + attributeOf(resultShardings, i);
  return text + ") {\n" + body + "\n}\n";
}

DistCase::DistCase(const DistText &text) {
  static bool isRegistered = (registerHoneShardingPasses(), true);
  (void)isRegistered;
  context.loadDialect<HoneDialect, DistDialect, func::FuncDialect>();
  global = parseSourceString<ModuleOp>(text.str(), &context);
  EXPECT_TRUE(global) << text.str();
}

bool DistCase::runPasses(ModuleOp module, StringRef passes) {
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    errors += diagnostic.str() + "\n";
    return success();
  });
  PassManager manager(&context);
  if (failed(parsePassPipeline(passes, manager)))
    return false;
  return succeeded(manager.run(module));
}

bool DistCase::partition() {
  partitioned = global->clone();
  return runPasses(
      *partitioned,
      "dist-propagate,dist-partition,dist-verify,dist-lower-blocks,"
      "dist-lower-rings");
}

std::string DistCase::verifyAfter(llvm::function_ref<void(func::FuncOp)> edit) {
  edit(local());
  errors.clear();
  return runPasses(*partitioned, "dist-verify") ? "" : errors;
}

std::string DistCase::collectives() {
  std::string text;
  local().walk([&](Operation *op) {
    if (!isa<DistDialect>(op->getDialect()) || isa<ShardOp, CoordinateOp>(op))
      return;
    text +=
        (text.empty() ? "" : ", ") + op->getName().stripDialect().str() + "(";
    bool isFirst = true;
    for (auto name :
         op->getAttrOfType<ArrayAttr>("axes").getAsRange<StringAttr>()) {
      text += (isFirst ? "" : " ") + name.getValue().str();
      isFirst = false;
    }
    text += ") " + std::to_string(byteSize(op->getOperand(0).getType()));
  });
  return text;
}

/// Whether two results are as near as `tolerance` allows.
static testing::AssertionResult near(const Tensor &wanted, const Tensor &got,
                                     double tolerance, size_t result) {
  for (int64_t i = 0; i != wanted.size(); ++i) {
    double a = wanted.number(i), b = got.number(i);
    if (a == b || (std::isnan(a) && std::isnan(b)))
      continue;
    if (!(std::abs(a - b) <= tolerance * (1 + std::abs(a))))
      return testing::AssertionFailure()
             << "result " << result << " element " << i << " is " << b
             << ", expected " << a;
  }
  return testing::AssertionSuccess();
}

FailureOr<DistCase::Results> DistCase::run() {
  func::FuncOp whole = functionOf(*global);
  FailureOr<Tensors> arguments = randomArguments(whole, 1, Mode::Typed);
  if (failed(arguments))
    return failure();
  FailureOr<Tensors> exact = interpret(whole, *arguments, {Mode::F64, nullptr});
  FailureOr<Tensors> own = interpret(whole, *arguments, {Mode::Typed, nullptr});
  FailureOr<Tensors> ofRanks =
      interpretOnRanks(local(), *arguments, Mode::Typed);
  if (failed(exact) || failed(own) || failed(ofRanks))
    return failure();
  return Results{std::move(*exact), std::move(*own), std::move(*ofRanks)};
}

testing::AssertionResult DistCase::ranksAgree(double tolerance, Mode mode) {
  func::FuncOp whole = functionOf(*global), part = local();
  FailureOr<Mesh> mesh = Mesh::of(*partitioned);
  FailureOr<Tensors> arguments = randomArguments(whole, 1, mode);
  if (failed(mesh) || failed(arguments))
    return testing::AssertionFailure() << "nothing to run";
  std::vector<Tensors> parts(mesh->numRanks());
  for (auto [index, argument] : llvm::enumerate(*arguments)) {
    Sharding sharding = toSharding(
        part.getArgAttrOfType<ShardingAttr>(index, shardingAttr), *mesh);
    for (int64_t rank = 0; rank != mesh->numRanks(); ++rank)
      parts[rank].push_back(partOf(argument, sharding, *mesh, rank));
  }
  FailureOr<Tensors> wanted = interpret(whole, *arguments, {mode, nullptr});
  FailureOr<std::vector<Tensors>> got =
      interpretRanks(part, std::move(parts), mode, collectivesOn(*mesh, mode));
  if (failed(wanted) || failed(got))
    return testing::AssertionFailure() << "a run failed";
  for (size_t result = 0; result != wanted->size(); ++result) {
    std::vector<Tensor> copies;
    for (const Tensors &rank : *got)
      copies.push_back(rank[result]);
    Sharding sharding = toSharding(
        part.getResultAttrOfType<ShardingAttr>(result, shardingAttr), *mesh);
    llvm::Expected<Tensor> together =
        assemble(copies, (*wanted)[result].shape(), sharding, *mesh);
    if (!together)
      return testing::AssertionFailure()
             << "result " << result << ": "
             << llvm::toString(together.takeError());
    if (auto agree = near((*wanted)[result], *together, tolerance, result);
        !agree)
      return agree;
  }
  return testing::AssertionSuccess();
}

std::string dist::randomSharding(ArrayRef<int64_t> shape, const Mesh &mesh,
                                 std::minstd_rand &draw) {
  SmallVector<DimShards> dims(shape.size());
  for (unsigned axis = 0; axis != mesh.numAxes() && !shape.empty(); ++axis) {
    unsigned dim = draw() % (shape.size() + 1);
    if (dim == shape.size())
      continue;
    DimShards more = dims[dim];
    more.axes.push_back(axis);
    if (more.cuts.empty() && draw() % 3 == 0 && shape[dim] > 1)
      more.cuts.push_back(1 + draw() % (shape[dim] - 1));
    if (dims[dim].isWhole() && !more.cuts.empty())
      more.snake = draw() % 2 == 0;
    if (dividesEvenly(more, shape[dim], mesh))
      dims[dim] = more;
  }
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::interleaveComma(dims, os, [&](const DimShards &dim) {
    os << '{';
    llvm::interleaveComma(dim.axes, os, [&](unsigned axis) {
      os << '"' << mesh[axis].name << '"';
    });
    if (!dim.cuts.empty()) {
      os << " cuts [";
      llvm::interleaveComma(dim.cuts, os);
      os << ']';
    }
    os << (dim.snake ? " snake}" : "}");
  });
  return text;
}
