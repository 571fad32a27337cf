// FakeGang equals a simulated gang whose ranks hold equal data.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "gang/fake_gang.h"
#include "properties/property.h"
#include "properties/subject.h"

namespace gang::properties {

// How a fake gang is made: the function under test.
using FakeGangFactory = std::function<std::shared_ptr<Gang>(const FakeGangOptions&)>;

std::vector<Property> fake_gang_agrees(const FakeGangFactory& make_fake = make_fake_gang,
                                       const Subject& subject = {});

}  // namespace gang::properties
