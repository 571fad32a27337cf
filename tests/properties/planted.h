// Planted bugs, and the expectation that a property catches and shrinks them.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gang/forwarding_gang.h"
#include "properties/property.h"
#include "properties/subject.h"

namespace gang::properties {

// A gang that runs every collective to its end at once, and then does something wrong.
class PlantedGang final : public ForwardingGang {
 public:
  using Bug = std::function<void(Gang&, Operation&)>;

  PlantedGang(std::shared_ptr<Gang> inner, Bug bug)
      : ForwardingGang(std::move(inner)), bug_(std::move(bug)) {}

 protected:
  std::shared_ptr<Gang> wrap(std::shared_ptr<Gang> child) override { return child; }
  Received do_run(Operation& operation) override {
    const Received received = ForwardingGang::do_run(operation);
    bug_(*this, operation);
    return received;
  }
  Work do_start(Operation& operation) override {
    if (is_point_to_point(operation.collective.kind)) return ForwardingGang::do_start(operation);
    do_run(operation);
    return {};
  }

 private:
  Bug bug_;
};

// The first byte that the operation gave this rank; null if it gave none.
inline std::byte* first_output_byte(Operation& operation) {
  if (operation.output.size_bytes() > 0) return operation.output.data();
  if (!operation.extras->outputs.empty() && operation.extras->outputs.back().size_bytes() > 0) {
    return operation.extras->outputs.back().data();
  }
  for (const PointToPoint& part : operation.extras->batch) {
    if (part.kind == OperationKind::recv && part.tensor.size_bytes() > 0) return part.tensor.data();
  }
  return nullptr;
}

inline void corrupt(Operation& operation) {
  if (std::byte* byte = first_output_byte(operation)) *byte ^= std::byte{1};
}

// Gangs on which `run` runs the blocking operations; `inner` runs one as it should be.
using RunOperation =
    std::function<Received(Operation&, const std::function<Received(Operation&)>& inner)>;
inline Subject running_by(RunOperation run) {
  class Replaced final : public ForwardingGang {
   public:
    Replaced(std::shared_ptr<Gang> inner, RunOperation run_operation)
        : ForwardingGang(std::move(inner)), run_(std::move(run_operation)) {}

   protected:
    std::shared_ptr<Gang> wrap(std::shared_ptr<Gang> child) override { return child; }
    Received do_run(Operation& operation) override {
      return run_(operation, [this](Operation& one) { return ForwardingGang::do_run(one); });
    }

   private:
    RunOperation run_;
  };
  Subject subject;
  subject.wrap = [run = std::move(run)](std::shared_ptr<Gang> gang) -> std::shared_ptr<Gang> {
    return std::make_shared<Replaced>(std::move(gang), run);
  };
  return subject;
}

// Gangs whose blocking operations turn errors into success, except those of kind `kept`.
inline Subject forgiving(std::optional<GangErrorKind> kept = std::nullopt) {
  return running_by([kept](Operation& operation, const auto& inner) -> Received {
    try {
      return inner(operation);
    } catch (const GangError& error) {
      if (error.kind() == kept) throw;
      return {};
    }
  });
}

// Gangs whose operations of one kind give the last rank a wrong result.
inline Subject corrupting(OperationKind kind) {
  Subject subject;
  subject.wrap = [kind](std::shared_ptr<Gang> gang) -> std::shared_ptr<Gang> {
    return std::make_shared<PlantedGang>(std::move(gang), [kind](Gang& on, Operation& operation) {
      if (operation.collective.kind == kind && on.rank() == on.size() - 1) corrupt(operation);
    });
  };
  return subject;
}

// A simulator whose report is not what happened.
inline Subject reporting(const std::function<void(sim::Report&)>& falsify) {
  Subject subject;
  subject.simulate = [falsify](const sim::SimulationOptions& options,
                               const sim::RankProgram& program) {
    sim::Report report = sim::Simulation(options).run(program);
    falsify(report);
    return report;
  };
  return subject;
}

// A simulator that runs under options other than those it is given.
inline Subject running_under(const std::function<void(sim::SimulationOptions&)>& change) {
  Subject subject;
  subject.simulate = [change](sim::SimulationOptions options, const sim::RankProgram& program) {
    change(options);
    return sim::Simulation(options).run(program);
  };
  return subject;
}

inline const Property& find_property(const std::vector<Property>& properties,
                                     const std::string& name) {
  const auto found = std::ranges::find(properties, name, &Property::name);
  if (found == properties.end()) throw std::out_of_range("no property " + name);
  return *found;
}

// That the property is falsified, and that its token gives the shrunk case again.
inline Counterexample expect_caught(const Property& property, const std::string& message = "",
                                    Settings settings = {}) {
  const CheckResult result = property.check(settings);
  if (!result.counterexample) {
    ADD_FAILURE() << property.full_name() << " did not catch the planted bug";
    return {};
  }
  const Counterexample& found = *result.counterexample;
  EXPECT_THAT(found.message, ::testing::HasSubstr(message));
  settings.reproduce = found.reproduce;
  const CheckResult replayed = property.check(settings);
  if (!replayed.counterexample) {
    ADD_FAILURE() << property.full_name() << " does not reproduce " << found.reproduce;
    return found;
  }
  EXPECT_EQ(replayed.counterexample->text, found.text);
  EXPECT_EQ(replayed.counterexample->message, found.message);
  return found;
}

inline Counterexample expect_caught(const std::vector<Property>& properties,
                                    const std::string& name, const std::string& message = "") {
  return expect_caught(find_property(properties, name), message);
}

// Why a check does not hold.
inline std::string why_not(const CheckResult& result) {
  const auto& found = result.counterexample;
  return found ? found->text + "\n" + found->message : result.gave_up;
}

// That every one of the properties holds for the real thing, over a few hundred cases.
inline void expect_hold(const std::vector<Property>& properties, std::uint64_t cases = 300) {
  for (const Property& property : properties) {
    const CheckResult result = property.check({.cases = cases});
    EXPECT_TRUE(result.held()) << property.full_name() << "\n" << why_not(result);
    EXPECT_GT(result.cases, 0U) << property.full_name();
  }
}

}  // namespace gang::properties
