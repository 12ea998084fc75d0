//===- TextTest.cpp - Schedules as text -----------------------------------===//

#include "Cases.h"

#include "hone/Analysis/Pipeline/Text.h"

#include "gtest/gtest.h"

using namespace hone::pipeline;
using namespace hone::pipeline::test;
using llvm::StringRef;

namespace {

std::string csvOf(const Schedule &schedule) {
  std::string text;
  llvm::raw_string_ostream out(text);
  writeCsv(schedule, out);
  return text;
}

TEST(PipelineText, NamesOfSchedulesAreRead) {
  for (StringRef choice : allChoices())
    EXPECT_EQ(formatScheduleChoice(llvm::cantFail(parseScheduleChoice(choice))),
              choice);
  auto messageOf = [](StringRef text) {
    return llvm::toString(parseScheduleChoice(text).takeError());
  };
  EXPECT_EQ(messageOf("zb-h"),
            "'zb-h': expected gpipe, 1f1b, interleaved=2 (or more chunks per "
            "rank), zb-h1 or zb-v; did you mean zb-h1?");
  for (StringRef wrong : {"gpipe+overlap", "zb-v+overlap"})
    EXPECT_EQ(messageOf(wrong),
              "'" + wrong.str() +
                  "': no two of its actions can run together, expected "
                  "1f1b+overlap, interleaved=2+overlap (or more chunks per "
                  "rank) or zb-h1+overlap");
  for (StringRef wrong : {"", "interleaved", "1f1b=2", "x+overlap"})
    EXPECT_TRUE(StringRef(messageOf(wrong)).contains("expected gpipe"));
  for (StringRef wrong : {"interleaved=", "interleaved=0", "interleaved=x",
                          "interleaved=99999999999"})
    EXPECT_TRUE(StringRef(messageOf(wrong))
                    .contains("expected a number from 1 to 1024"))
        << messageOf(wrong);
}

TEST(PipelineText, ListsAreWhatTheLiteratureDraws) {
  auto lists = [](StringRef choice, int ranks, int microBatches) {
    return csvOf(generateSchedule(llvm::cantFail(parseScheduleChoice(choice)),
                                  ranks, microBatches));
  };
  EXPECT_EQ(lists("gpipe", 2, 2), "0F0,0F1,0B0,0B1\n1F0,1F1,1B0,1B1\n");
  EXPECT_EQ(lists("1f1b", 2, 3),
            "0F0,0F1,0B0,0F2,0B1,0B2\n1F0,1B0,1F1,1B1,1F2,1B2\n");
  EXPECT_EQ(lists("interleaved=1", 2, 3), lists("1f1b", 2, 3));
  // The first group has the remainder.
  EXPECT_EQ(lists("interleaved=2", 2, 3),
            "0F0,0F1,0F2,2F0,2F1,2F2,2B0,2B1,2B2,0B0,0B1,0B2\n"
            "1F0,1F1,1F2,3F0,3B0,3F1,3B1,3F2,3B2,1B0,1B1,1B2\n");
  EXPECT_EQ(lists("zb-h1", 2, 3), "0F0,0F1,0I0,0W0,0F2,0I1,0W1,0I2,0W2\n"
                                  "1F0,1I0,1F1,1I1,1W0,1F2,1I2,1W1,1W2\n");
  EXPECT_EQ(lists("zb-v", 2, 3),
            "0F0,0F1,0F2,3F0,3I0,3W0,3F1,3I1,3W1,0I0,0W0,3F2,3I2,3W2,0I1,0W1,"
            "0I2,0W2\n"
            "1F0,2F0,1F1,2F1,2I0,2W0,1F2,1I0,1W0,2F2,2I1,2W1,1I1,2I2,1I2,1W1,"
            "2W2,1W2\n");
}

// A rank is twice as far ahead as with 1F1B, and one more.
TEST(PipelineText, OverlapsAreInBrackets) {
  auto lists = [](StringRef choice, int ranks, int microBatches) {
    return csvOf(generateSchedule(llvm::cantFail(parseScheduleChoice(choice)),
                                  ranks, microBatches));
  };
  EXPECT_EQ(lists("1f1b+overlap", 2, 4),
            "0F0,0F1,0F2,(0F3;0B0)OVERLAP_F_B,0B1,0B2,0B3\n"
            "1F0,(1F1;1B0)OVERLAP_F_B,(1F2;1B1)OVERLAP_F_B,"
            "(1F3;1B2)OVERLAP_F_B,1B3\n");
  EXPECT_EQ(lists("interleaved=1+overlap", 2, 4), lists("1f1b+overlap", 2, 4));
  EXPECT_EQ(lists("interleaved=2+overlap", 1, 2),
            "0F0,1F0,(0F1;1B0)OVERLAP_F_B,(1F1;0B0)OVERLAP_F_B,1B1,0B1\n");
  EXPECT_EQ(lists("zb-h1+overlap", 2, 4),
            "0F0,0F1,0F2,(0F3;0I0)OVERLAP_F_B,0W0,0I1,0I2,0I3,0W1,0W2,0W3\n"
            "1F0,(1F1;1I0)OVERLAP_F_B,1W0,(1F2;1I1)OVERLAP_F_B,1W1,"
            "(1F3;1I2)OVERLAP_F_B,1W2,1I3,1W3\n");
}

TEST(PipelineText, RoundTrip) {
  for (StringRef choice : allChoices())
    for (int p : {1, 2, 4})
      for (int m : {1, 5, 8}) {
        Schedule schedule = make(choice, p, m);
        Schedule read = llvm::cantFail(readCsv(csvOf(schedule), "file.csv"));
        EXPECT_EQ(read.name, "file.csv");
        EXPECT_EQ(csvOf(read), csvOf(schedule));
        EXPECT_EQ(read.ranks, schedule.ranks) << describe(schedule);
        EXPECT_EQ(read.channels, schedule.channels) << describe(schedule);
        EXPECT_EQ(read.shape.chunksPerRank, schedule.shape.chunksPerRank);
        if (p > 1)
          EXPECT_EQ(read.shape.placement, schedule.shape.placement);
      }
}

// torch writes empty cells where a rank idles, and ends lines with \r\n.
TEST(PipelineText, EmptyCellsAndLinesAreSkipped) {
  Schedule schedule =
      llvm::cantFail(readCsv("0F0,,,0B0\r\n,1F0,1B0 , \r\n\r\n\n", "file.csv"));
  EXPECT_EQ(csvOf(schedule), "0F0,0B0\n1F0,1B0\n");
}

TEST(PipelineText, RefusalsNameLineAndColumn) {
  const char *refusals[][2] = {
      {"", "l.csv:1:1: is empty, expected a row of actions per rank"},
      {"0F0,0B0\n1F0, 1X0",
       "l.csv:2:6: '1X0', expected chunk, kind and micro-batch as in 3F0, of "
       "kind F, B, I, W, SEND_F, RECV_F, SEND_B or RECV_B"},
      {"0UNSHARD,0F0",
       "l.csv:1:1: '0UNSHARD', expected chunk, kind and micro-batch as in 3F0, "
       "of kind F, B, I, W, SEND_F, RECV_F, SEND_B or RECV_B"},
      {"0F0,(0F1;0B0)",
       "l.csv:1:5: '(0F1;0B0)', expected (3F1;3B0)OVERLAP_F_B"},
      {"0F0,(0F1)OVERLAP_F_B",
       "l.csv:1:5: '', expected chunk, kind and micro-batch as in 3F0, of kind "
       "F, B, I, W, SEND_F, RECV_F, SEND_B or RECV_B"},
      {"0F0,0F99999999999",
       "l.csv:1:5: '0F99999999999', expected chunk, kind and micro-batch as in "
       "3F0, of kind F, B, I, W, SEND_F, RECV_F, SEND_B or RECV_B"},
      {"0F0,0B0\n\n1F0,1B0",
       "l.csv:2:1: rank 1 has no action, expected a list such as 0F0,0B0"},
      {"0F0,0B0\n1F0,2B0",
       "l.csv:2:5: 2B0: has the highest chunk, so there are 3 chunks on 2 "
       "ranks, expected a multiple"},
      {"0F0,0B2000000000",
       "l.csv:1:5: 0B2000000000: has the highest micro-batch, so there are 1 "
       "chunks and 2000000001 micro-batches, expected an action at least for "
       "each pair; found 2"},
      {"0F0,2F0\n1F0,3F0\n0B0,1B0",
       "l.csv:2:5: 3F0: has the highest chunk, so there are 4 chunks on 3 "
       "ranks, expected a multiple"},
      {"0F0,2F0\n1F0,0B0",
       "l.csv:1:5: 2F0: has the highest chunk, so there are 3 chunks on 2 "
       "ranks, expected a multiple"},
      {"0F0,0B0,1B0\n1F0,1B0",
       "l.csv:1:9: 1B0 is on rank 0, expected chunk 1 on rank 1 (chunks placed "
       "as a loop)"},
      {"0F0,3F0\n1F0,2F0,0B0,3B0",
       "l.csv:2:9: 0B0 is on rank 1, expected chunk 0 on rank 0 (chunks placed "
       "as a V)"},
  };
  for (auto [text, message] : refusals) {
    llvm::Expected<Schedule> schedule = readCsv(text, "l.csv");
    ASSERT_FALSE(schedule) << text;
    EXPECT_EQ(llvm::toString(schedule.takeError()), message);
  }
}

TEST(PipelineText, PicturesHaveABoxPerAction) {
  Schedule schedule = make("zb-v", 2, 4);
  schedule.name = "a<b.csv";
  Timeline timeline =
      runSchedule(schedule, equalSeconds(schedule, ChunkSeconds::of(1, 1, 1)));
  std::string text;
  llvm::raw_string_ostream out(text);
  writeSvg(schedule, timeline, out);
  StringRef svg = text;
  // F, I and W of four chunks and micro-batches.
  EXPECT_EQ(svg.count("<g><title>"), 48u);
  EXPECT_TRUE(svg.contains("<title>3W2</title><rect class=\"W1\""));
  EXPECT_TRUE(
      svg.contains(">a&lt;b.csv: 2 ranks, 4 micro-batches, bubble 4.00%"));
  EXPECT_TRUE(svg.contains("prefers-color-scheme: dark"));
  EXPECT_FALSE(svg.contains("SEND"));
}

} // namespace
