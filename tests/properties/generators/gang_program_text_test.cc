#include "properties/generators/gang_program.h"
#include "tests/properties/planted.h"

namespace gang::properties {
namespace {

TEST(GangProgramText, ReadsAsWhatTheRanksDo) {
  GangProgram program;
  program.world = 4;
  program.nodes.push_back(
      {.making = Making::split, .parent = 0, .ranks = {}, .colors = {0, 1}, .keys = {0}});
  program.nodes.push_back(
      {.making = Making::create_gang, .parent = 1, .ranks = {1, 0}, .colors = {}, .keys = {}});
  program.steps = {{.node = 1,
                    .kind = OperationKind::all_reduce,
                    .data_type = DataType::bf16,
                    .form = Form::start_later,
                    .count = 3,
                    .in_place = true},
                   {.kind = OperationKind::broadcast, .count = 2, .root = 3, .stacked = true},
                   {.kind = OperationKind::send, .form = Form::start_wait, .root = 1, .peer = 2},
                   {.node = 2, .kind = OperationKind::barrier},
                   {.kind = OperationKind::batch, .form = Form::start_test, .peer = 3},
                   {.kind = OperationKind::recv, .count = 0, .root = 2},
                   {.kind = OperationKind::all_to_all, .uneven = true}};
  EXPECT_EQ(
      to_text(program),
      "world 4, 3 gangs, 7 steps, round_robin schedule seed 1, independent, rendezvous sends\n"
      "gang 1 = split(color [0,1], key [0]) of gang 0\n"
      "gang 2 = create_gang([1,0]) on gang 1\n"
      "step 0  gang 1  all_reduce sum bf16[3] in place, started, waited for after the next "
      "step\n"
      "step 1  gang 0  broadcast i32[1,2] root 3\n"
      "step 2  gang 0  send i32[1] from rank 1 to rank 2, started and waited for\n"
      "step 3  gang 2  barrier\n"
      "step 4  gang 0  ring i32[1] by 3, started and polled\n"
      "step 5  gang 0  recv i32[0] on rank 2 from every other rank, any source\n"
      "step 6  gang 0  all_to_all i32[1] with split sizes");
}

}  // namespace
}  // namespace gang::properties
