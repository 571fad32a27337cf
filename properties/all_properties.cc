#include "properties/all_properties.h"

#include <iterator>

#include "properties/collectives_match_model.h"

namespace gang::properties {

std::vector<Property> all_properties(const Subject& subject) {
  std::vector<Property> all;
  const auto add = [&all](std::vector<Property> suite) {
    std::move(suite.begin(), suite.end(), std::back_inserter(all));
  };
  add(collectives_match_model(subject));
  return all;
}

}  // namespace gang::properties
