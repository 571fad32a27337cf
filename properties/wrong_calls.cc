// The catalogue of wrong calls.
#include <array>
#include <chrono>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "gang/object.h"
#include "properties/invalid_arguments_stay_local.h"

namespace gang::properties {
namespace {

// Memory for the operands of a wrong call, none of which is ever sent.
struct Operands {
  explicit Operands(const Gang& gang)
      : chunks(static_cast<std::size_t>(3 * gang.size())), parts(slices_of(chunks)) {}

  static std::vector<TensorView> slices_of(std::vector<float>& chunks) {
    std::vector<TensorView> slices;
    for (std::size_t i = 0; i < chunks.size(); i += 3)
      slices.push_back(view(chunks).slice(static_cast<std::int64_t>(i), 3));
    return slices;
  }

  TensorView chunk_view() { return view(chunk); }

  std::array<float, 3> chunk{};
  std::array<double, 3> other_type{};
  std::vector<float> chunks;
  std::vector<TensorView> parts;
};

using Calls = std::vector<WrongCall>;
constexpr auto any_reduction = ReduceOperation::sum;

void add_wrong_roots(Calls& calls) {
  const std::pair<const char*, int> roots[] = {{"-1", -1}, {"far too large", 1'000'000}};
  for (const auto& [text, root] : roots) {
    const auto add = [&calls, text](const char* name, auto call) {
      calls.push_back(
          {fmt::format("{} with root {}", name, text), ErrorClass::invalid_argument, call});
    };
    add("reduce",
        [root](Gang& gang) { gang.reduce(Operands(gang).chunk_view(), any_reduction, root); });
    add("gather", [root](Gang& gang) { gang.gather({}, Operands(gang).chunk_view(), root); });
    add("scatter", [root](Gang& gang) { gang.scatter(Operands(gang).chunk_view(), {}, root); });
    add("broadcast", [root](Gang& gang) { gang.broadcast(Operands(gang).chunk_view(), root); });
    add("broadcast_objects", [root](Gang& gang) {
      Object object;
      gang.broadcast_objects({&object, 1}, root);
    });
    add("send", [root](Gang& gang) { gang.send(Operands(gang).chunk_view(), root); });
  }
  calls.push_back({"reduce to rank size()", ErrorClass::invalid_argument, [](Gang& gang) {
                     gang.reduce(Operands(gang).chunk_view(), any_reduction, gang.size());
                   }});
  calls.push_back({"recv from rank size()", ErrorClass::invalid_argument,
                   [](Gang& gang) { gang.recv(Operands(gang).chunk_view(), gang.size()); }});
}

void add_wrong_shapes(Calls& calls) {
  const auto add = [&calls](const char* name, auto call) {
    calls.push_back({name, ErrorClass::invalid_argument, call});
  };
  add("all_reduce into another type", [](Gang& gang) {
    Operands operands(gang);
    gang.all_reduce(view(operands.other_type), view(operands.chunk), any_reduction);
  });
  add("all_reduce into another count", [](Gang& gang) {
    Operands operands(gang);
    gang.all_reduce(view(operands.chunk).slice(0, 2), view(operands.chunks).slice(0, 3),
                    any_reduction);
  });
  add("all_gather into too little", [](Gang& gang) {
    Operands operands(gang);
    gang.all_gather(view(operands.chunks).slice(1, operands.chunks.size() - 1),
                    view(operands.chunk));
  });
  add("reduce_scatter of too little", [](Gang& gang) {
    Operands operands(gang);
    const auto count = static_cast<std::int64_t>(operands.chunks.size());
    gang.reduce_scatter(view(operands.chunk), view(operands.chunks).slice(0, count - 1),
                        any_reduction);
  });
  add("all_gather_to_list with a tensor too many", [](Gang& gang) {
    Operands operands(gang);
    operands.parts.push_back(operands.parts.front());
    gang.all_gather_to_list(operands.parts, view(operands.chunk));
  });
  add("gather with a list of another count", [](Gang& gang) {
    Operands operands(gang);
    for (TensorView& part : operands.parts) part = part.slice(0, 2);
    gang.gather(operands.parts, view(operands.chunk), gang.rank());
  });
  add("all_to_all between different counts", [](Gang& gang) {
    Operands operands(gang);
    std::vector<float> other(operands.chunks.size() + static_cast<std::size_t>(gang.size()));
    gang.all_to_all(view(other), view(operands.chunks));
  });
  add("all_to_all with splits that do not add up", [](Gang& gang) {
    Operands operands(gang);
    std::vector<float> output(operands.chunks.size());
    const std::vector<std::int64_t> good(operands.parts.size(), 3);
    const std::vector<std::int64_t> bad(operands.parts.size(), 2);
    gang.all_to_all(view(output), view(operands.chunks), {.output = good, .input = bad});
  });
  add("all_reduce of a tensor on another device", [](Gang& gang) {
    Operands operands(gang);
    gang.all_reduce({operands.chunk.data(), DataType::f32, Shape{3}, {DeviceType::cuda, 0}},
                    any_reduction);
  });
  add("all_reduce of elements without memory",
      [](Gang& gang) { gang.all_reduce({nullptr, DataType::f32, Shape{3}}, any_reduction); });
}

void add_wrong_gangs(Calls& calls) {
  const auto add = [&calls](const char* name, auto call) {
    calls.push_back({name, ErrorClass::invalid_argument, call});
  };
  add("create_gang without ranks", [](Gang& gang) { gang.create_gang({}); });
  add("create_gang with a rank twice", [](Gang& gang) {
    const int ranks[] = {0, 0};
    gang.create_gang(ranks);
  });
  add("create_gang with rank size()", [](Gang& gang) {
    const int ranks[] = {0, gang.size()};
    gang.create_gang(ranks);
  });
  add("create_gang with rank -1", [](Gang& gang) {
    const int ranks[] = {-1};
    gang.create_gang(ranks);
  });
  add("create_gang with timeout 0", [](Gang& gang) {
    const int ranks[] = {0};
    gang.create_gang(ranks, {.name = "", .timeout = Duration{0}});
  });
  add("split with colour -2", [](Gang& gang) { gang.split({.color = -2}); });
}

void add_wrong_options(Calls& calls) {
  const auto add = [&calls](const char* name, auto call) {
    calls.push_back({name, ErrorClass::invalid_argument, call});
  };
  add("barrier with timeout 0",
      [](Gang& gang) { gang.barrier({.label = "", .timeout = Duration{0}, .guarded = {}}); });
  add("monitored_barrier with timeout -1 ms",
      [](Gang& gang) { gang.monitored_barrier(std::chrono::milliseconds(-1)); });
  add("send with tag -3", [](Gang& gang) { gang.send(Operands(gang).chunk_view(), 0, -3); });
  add("send with any_tag", [](Gang& gang) { gang.send(Operands(gang).chunk_view(), 0, any_tag); });
}

void add_other_errors(Calls& calls) {
  calls.push_back({"all_reduce band of f32", ErrorClass::not_supported, [](Gang& gang) {
                     gang.all_reduce(Operands(gang).chunk_view(), ReduceOperation::bitwise_and);
                   }});
  calls.push_back({"reduce sum of bool", ErrorClass::not_supported, [](Gang& gang) {
                     bool flag = true;
                     gang.reduce(view_of(flag), any_reduction, 0);
                   }});
  calls.push_back({"barrier after close", ErrorClass::invalid_operation, [](Gang& gang) {
                     gang.close();
                     gang.barrier();
                   }});
  calls.push_back({"split after close", ErrorClass::invalid_operation, [](Gang& gang) {
                     gang.close();
                     gang.split({.color = 0});
                   }});
}

}  // namespace

std::vector<WrongCall> all_wrong_calls() {
  Calls calls;
  add_wrong_roots(calls);
  add_wrong_shapes(calls);
  add_wrong_gangs(calls);
  add_wrong_options(calls);
  add_other_errors(calls);
  return calls;
}

}  // namespace gang::properties
