// Pipeline schedules, and how they run on gangs.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "harness/pipeline/message_plan.h"
#include "harness/pipeline/plan_progress.h"
#include "harness/pipeline/stock_schedules.h"
#include "properties/property.h"

namespace gang::properties {

// What is under test: the real functions, unless a test plants others.
struct PipelineSubject {
  std::function<harness::PipelineSchedule(harness::ScheduleKind, const harness::PipelineSizes&)>
      make = harness::make_schedule;
  std::function<std::vector<std::string>(const harness::PipelineSchedule&)> check =
      harness::check_schedule;
  std::function<harness::MessagePlan(const harness::PipelineSchedule&, harness::SendForm)> plan =
      harness::plan_messages;
  std::function<harness::PlanProgress(const harness::MessagePlan&, harness::Sending)> progress =
      harness::check_progress;
};

std::vector<Property> pipelines_are_valid(const PipelineSubject& subject = {});

}  // namespace gang::properties
