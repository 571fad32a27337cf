// Values with a text form, and the law that printing and parsing are inverse.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "properties/law.h"

namespace gang::properties {

// A type's text form: the functions under test, and where its values come from.
template <typename T>
struct TextForm {
  std::string name;  // "schedules"
  std::function<T(Draw&)> generate;
  std::function<std::string(const T&)> print;
  std::function<T(const std::string&)> parse;
  std::function<std::vector<T>(const T&)> simpler;
  std::function<std::string(const T&)> show = nullptr;  // if `print` is not for people
};

// A value with the functions that show and shrink it.
template <typename T>
struct TextCase {
  T value;
  std::function<std::string(const T&)> show;
  std::function<std::vector<T>(const T&)> simpler;

  friend std::string to_text(const TextCase& one) { return one.show(one.value); }
  friend std::vector<TextCase> shrinks(const TextCase& one) {
    std::vector<TextCase> cases;
    for (T& smaller : one.simpler(one.value)) {
      cases.push_back({std::move(smaller), one.show, one.simpler});
    }
    return cases;
  }
};

// parse(print(value)) == value, for any value.
template <typename T>
Property round_trip_property(TextForm<T> form) {
  if (!form.show) form.show = form.print;
  Law<TextCase<T>> law;
  law.suite = "texts_round_trip";
  law.name = form.name;
  law.description = "A printed value parses to an equal value.";
  law.generate = [form](Draw& draw) {
    return TextCase<T>{form.generate(draw), form.show, form.simpler};
  };
  law.verdict = [form](const TextCase<T>& one) {
    const T parsed = form.parse(form.print(one.value));
    if (parsed == one.value) return Verdict::holds();
    return Verdict::violated("it parses to a different value:\n" + form.show(parsed));
  };
  return to_property(law);
}

}  // namespace gang::properties
