//===- DistDialect.cpp - Attributes of the dist dialect -------------------===//

#include "hone/IR/ResultNames.h"
#include "hone/Sharding/IR/RingOps.h"
#include "hone/Sharding/IR/Sharding.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace hone;
using namespace hone::dist;

#include "hone/Sharding/IR/DistDialect.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "hone/Sharding/IR/DistAttrs.cpp.inc"

void DistDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "hone/Sharding/IR/DistAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "hone/Sharding/IR/DistOps.cpp.inc"
      ,
#define GET_OP_LIST
#include "hone/Sharding/IR/DistRingOps.cpp.inc"
      >();
}

void *DistDialect::getRegisteredInterfaceForOp(TypeID interface,
                                               OperationName) {
  return findResultNames(interface);
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

/// `"a", "b"` up to the closing token that `parseEnd` takes.
static void printNames(AsmPrinter &printer, ArrayRef<StringAttr> names) {
  llvm::interleaveComma(names, printer.getStream(), [&](StringAttr name) {
    printer.printString(name.getValue());
  });
}

static ParseResult parseName(AsmParser &parser,
                             SmallVectorImpl<StringAttr> &names) {
  std::string name;
  if (parser.parseString(&name))
    return failure();
  names.push_back(StringAttr::get(parser.getContext(), name));
  return success();
}

/// `{"a", "b", ? cuts [3, 5] snake} p1 from "w"`
static void printDim(AsmPrinter &printer, DimAttr dim) {
  printer << '{';
  printNames(printer, dim.getAxes());
  if (dim.getIsOpen())
    printer << (dim.getAxes().empty() ? "?" : ", ?");
  if (!dim.getCuts().empty()) {
    printer << " cuts [";
    llvm::interleaveComma(dim.getCuts(), printer.getStream());
    printer << ']';
  }
  if (dim.getSnake())
    printer << " snake";
  printer << '}';
  if (dim.getPriority() != 0)
    printer << " p" << dim.getPriority();
  if (dim.getSource()) {
    printer << " from ";
    printer.printString(dim.getSource().getValue());
  }
}

/// `p1` to `p9` after a dimension.
static ParseResult parsePriority(AsmParser &parser, int64_t &priority) {
  StringRef word;
  if (succeeded(parser.parseOptionalKeyword(
          &word, {"p1", "p2", "p3", "p4", "p5", "p6", "p7", "p8", "p9"})))
    priority = word.back() - '0';
  return success();
}

/// `from "w"` after a priority.
static ParseResult parseSource(AsmParser &parser, StringAttr &source) {
  std::string text;
  if (failed(parser.parseOptionalKeyword("from")))
    return success();
  if (parser.parseString(&text))
    return failure();
  source = StringAttr::get(parser.getContext(), text);
  return success();
}

/// What follows the opening brace.
static ParseResult parseDim(AsmParser &parser, DimAttr &dim) {
  SmallVector<StringAttr> axes;
  SmallVector<int64_t> cuts;
  bool isOpen = false, isSnake = false;
  int64_t priority = 0;
  if (failed(parser.parseOptionalRBrace())) {
    do {
      if (succeeded(parser.parseOptionalQuestion())) {
        isOpen = true;
        break;
      }
      if (parseName(parser, axes))
        return failure();
    } while (succeeded(parser.parseOptionalComma()));
    if (succeeded(parser.parseOptionalKeyword("cuts"))) {
      auto parseCut = [&] { return parser.parseInteger(cuts.emplace_back()); };
      if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                         parseCut))
        return failure();
    }
    isSnake = succeeded(parser.parseOptionalKeyword("snake"));
    if (parser.parseRBrace())
      return failure();
  }
  StringAttr source;
  if (parsePriority(parser, priority) || parseSource(parser, source))
    return failure();
  dim = DimAttr::get(parser.getContext(), axes, cuts, isSnake, isOpen, priority,
                     source);
  return success();
}

Attribute DimAttr::parse(AsmParser &parser, Type) {
  DimAttr dim;
  if (parser.parseLess() || parser.parseLBrace() || parseDim(parser, dim) ||
      parser.parseGreater())
    return {};
  return dim;
}

void DimAttr::print(AsmPrinter &printer) const {
  printer << '<';
  printDim(printer, *this);
  printer << '>';
}

Attribute ShardingAttr::parse(AsmParser &parser, Type) {
  SmallVector<DimAttr> dims;
  SmallVector<StringAttr> partial;
  ReduceKind kind = ReduceKind::sum;
  if (parser.parseLess())
    return {};
  while (succeeded(parser.parseOptionalLBrace())) {
    if (parseDim(parser, dims.emplace_back()))
      return {};
    if (failed(parser.parseOptionalComma()))
      break;
  }
  if (succeeded(parser.parseOptionalKeyword("partial"))) {
    StringRef word;
    SMLoc loc = parser.getCurrentLocation();
    if (parser.parseKeyword(&word))
      return {};
    std::optional<ReduceKind> named = symbolizeReduceKind(word);
    if (!named) {
      parser.emitError(loc, "expected sum, max or min");
      return {};
    }
    kind = *named;
    if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
          return parseName(parser, partial);
        }))
      return {};
  }
  if (parser.parseGreater())
    return {};
  return ShardingAttr::get(parser.getContext(), dims, partial, kind);
}

void ShardingAttr::print(AsmPrinter &printer) const {
  printer << '<';
  llvm::interleaveComma(getDims(), printer.getStream(),
                        [&](DimAttr dim) { printDim(printer, dim); });
  if (!getPartial().empty()) {
    printer << (getDims().empty() ? "partial " : " partial ")
            << stringifyReduceKind(getKind()) << " [";
    printNames(printer, getPartial());
    printer << ']';
  }
  printer << '>';
}

//===----------------------------------------------------------------------===//
// Attributes of functions
//===----------------------------------------------------------------------===//

/// The mesh of the module around `op`, if there is one.
static MeshOp meshAround(Operation *op) {
  auto module = op->getParentOfType<ModuleOp>();
  if (!module)
    return {};
  auto meshes = module.getOps<MeshOp>();
  return meshes.empty() ? MeshOp() : *meshes.begin();
}

/// A sharding of an argument or result of type `type`. Of a local function it
/// divides the global tensor, whose shape is not here: uneven parts are looked
/// for in global ones alone, by the passes that read them.
static LogicalResult verifyOnFunction(Operation *op, NamedAttribute attribute,
                                      const Twine &what, Type type) {
  auto sharding = dyn_cast<ShardingAttr>(attribute.getValue());
  if (attribute.getName() != shardingAttr || !sharding)
    return op->emitOpError() << what << " has attribute " << attribute.getName()
                             << " = " << attribute.getValue() << ", expected "
                             << shardingAttr << " with a #dist.sharding";
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || tensor.getRank() != int64_t(sharding.getDims().size()))
    return op->emitOpError()
           << what << " has type " << type << " and a sharding of "
           << sharding.getDims().size() << " dimensions, expected as many";
  if (!meshAround(op))
    return op->emitOpError() << what << " is sharded in a module without "
                             << "dist.mesh, expected one";
  return success();
}

/// A positive number of instances.
static LogicalResult verifyWindow(Operation *op, NamedAttribute attribute,
                                  const Twine &what) {
  auto number = dyn_cast<IntegerAttr>(attribute.getValue());
  if (number && number.getInt() >= 1)
    return success();
  return op->emitOpError() << what << " has attribute " << windowAttr << " = "
                           << attribute.getValue()
                           << ", expected an integer from 1";
}

LogicalResult DistDialect::verifyRegionArgAttribute(Operation *op, unsigned,
                                                    unsigned argIndex,
                                                    NamedAttribute attribute) {
  auto func = dyn_cast<FunctionOpInterface>(op);
  if (!func)
    return op->emitOpError() << "has " << attribute.getName()
                             << " on an argument, expected it on functions";
  if (attribute.getName() == regatherAttr &&
      isa<UnitAttr>(attribute.getValue()))
    return success();
  if (attribute.getName() == windowAttr)
    return verifyWindow(op, attribute, "argument " + Twine(argIndex));
  return verifyOnFunction(op, attribute, "argument " + Twine(argIndex),
                          func.getArgumentTypes()[argIndex]);
}

LogicalResult DistDialect::verifyRegionResultAttribute(
    Operation *op, unsigned, unsigned resultIndex, NamedAttribute attribute) {
  auto func = cast<FunctionOpInterface>(op);
  return verifyOnFunction(op, attribute, "result " + Twine(resultIndex),
                          func.getResultTypes()[resultIndex]);
}

/// What `expertsAttr` holds.
static bool describesExperts(Attribute value) {
  auto experts = dyn_cast<DictionaryAttr>(value);
  auto isTraffic = [&](StringRef name) {
    auto figures = experts.getAs<DictionaryAttr>(name);
    return figures && figures.getAs<IntegerAttr>("bytes") &&
           figures.getAs<FloatAttr>("seconds");
  };
  return experts && experts.getAs<StringAttr>("lowering") &&
         experts.getAs<FloatAttr>("factor") &&
         experts.getAs<FloatAttr>("enough") && isTraffic("gather") &&
         isTraffic("all_to_all");
}

LogicalResult DistDialect::verifyOperationAttribute(Operation *op,
                                                    NamedAttribute attribute) {
  if (attribute.getName() == networkAttr && isa<ModuleOp>(op)) {
    Network network = Network::ofHost();
    return readNetwork(attribute.getValue(), network,
                       [&] { return op->emitOpError(); });
  }
  if (attribute.getName() == againAttr && isa<ShiftOp>(op) &&
      isa<UnitAttr>(attribute.getValue()))
    return success();
  if (isa<ModuleOp>(op) &&
      ((attribute.getName() == scheduleAttr &&
        isa<StringAttr>(attribute.getValue())) ||
       (attribute.getName() == turnsAttr &&
        isa<DictionaryAttr, ArrayAttr>(attribute.getValue()))))
    return success();
  if (attribute.getName() == pieceAttr && isa<UnitAttr>(attribute.getValue()) &&
      isa<CollectiveOpInterface>(op))
    return success();
  if (attribute.getName() == expertsAttr && isa<ModuleOp>(op)) {
    if (describesExperts(attribute.getValue()))
      return success();
    return op->emitOpError()
           << "has attribute " << expertsAttr << " = " << attribute.getValue()
           << ", expected {lowering, factor, enough, gather = {bytes, "
              "seconds}, all_to_all = {bytes, seconds}}";
  }
  for (auto [name, least] : {std::pair(StringRef(stagesAttr), 2),
                             std::pair(StringRef(chunksAttr), 2),
                             std::pair(StringRef(stageAttr), 0)}) {
    if (attribute.getName() != name || !isa<ModuleOp>(op))
      continue;
    auto number = dyn_cast<IntegerAttr>(attribute.getValue());
    if (number && number.getInt() >= least)
      return success();
    return op->emitOpError() << "has attribute " << name << " = "
                             << attribute.getValue() << ", expected an integer "
                             << "from " << least;
  }
  auto shardings = dyn_cast<ArrayAttr>(attribute.getValue());
  if (attribute.getName() != shardingsAttr || !shardings ||
      !llvm::all_of(shardings, llvm::IsaPred<ShardingAttr>))
    return op->emitOpError()
           << "has attribute " << attribute.getName() << ", expected "
           << shardingsAttr << " with an array of #dist.sharding";
  if (shardings.size() == op->getNumResults())
    return success();
  return op->emitOpError() << "has " << shardings.size()
                           << " shardings, expected one for each of "
                           << op->getNumResults() << " results";
}
