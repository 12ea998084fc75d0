//===- DescribeMemory.cpp - What a program says of its memory -------------===//

#include "DescribeMemory.h"

#include "hone/Analysis/Memory/Timeline.h"
#include "hone/Plan/AbiNumbers.h"

using namespace mlir;
using namespace hone;

void hone::describeMemory(plan::ProgramOp program, ProgramWriter &writer) {
  writer.call("honert_arena", {writer.integer(program.getArena())});
  if (program.getHost())
    writer.call("honert_host_arena", {writer.integer(*program.getHost())});
  if (auto categories = program.getCategories())
    for (NamedAttribute entry : *categories)
      writer.call(
          "honert_category",
          {writer.string(entry.getName()),
           writer.integer(cast<IntegerAttr>(entry.getValue()).getInt())});
  constexpr size_t rows = 10;
  SmallVector<LiveTensors> tensors = MemoryTimeline(program).tensorsAtPeak();
  for (const LiveTensors &row : ArrayRef(tensors).take_front(rows))
    writer.call("honert_live",
                {writer.string(categoryName(row.category)),
                 writer.string(row.name), writer.string(row.location),
                 writer.integer(abi::dtype(row.type.getElementType())),
                 writer.integer(row.type.getRank()),
                 writer.array(row.type.getShape()), writer.integer(row.count),
                 writer.integer(row.bytes)});
}
