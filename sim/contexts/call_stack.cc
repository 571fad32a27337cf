#include "sim/contexts/call_stack.h"

#include <cxxabi.h>
#include <unwind.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string_view>
#include <unordered_map>

#if GANGSIM_HAS_BACKTRACE
#include <backtrace.h>
#endif

namespace gang::sim {
namespace {

constexpr std::size_t most_frames = 64;

_Unwind_Reason_Code add_frame(_Unwind_Context* context, void* data) {
  auto& addresses = *static_cast<std::vector<std::uintptr_t>*>(data);
  int is_before_instruction = 0;
  const std::uintptr_t next = _Unwind_GetIPInfo(context, &is_before_instruction);
  if (next == 0 || addresses.size() == most_frames) return _URC_END_OF_STACK;
  // A return address is behind the call.
  addresses.push_back(is_before_instruction != 0 ? next : next - 1);
  return _URC_NO_REASON;
}

std::string demangled(const char* symbol) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(
      abi::__cxa_demangle(symbol, nullptr, nullptr, &status), &std::free);
  return status == 0 && name ? name.get() : symbol;
}

bool is_one_of(std::string_view name, std::span<const std::string_view> prefixes) {
  return std::ranges::any_of(prefixes,
                             [name](std::string_view prefix) { return name.starts_with(prefix); });
}

// Functions that carry out a call made by a program.
bool is_inside_a_call(std::string_view function) {
  static constexpr std::array<std::string_view, 10> prefixes = {
      "gang::sim::",      "gang::Gang::", "gang::Work::",    "gang::ForwardingGang::",
      "gang::FakeGang::", "gang::Mutex",  "gang::Condition", "gang::Context",
      "gang::Runtime",    "std::"};
  return is_one_of(function, prefixes);
}

// Functions that call a program.
bool is_below_a_program(std::string_view function) {
  return function.starts_with("gang::sim::") ||
         function.starts_with("gang::harness::program_file::") ||
         (function.starts_with("std::_Function_handler<") &&
          (function.find("gang::harness::Rank&") != std::string_view::npos ||
           function.find("gang::sim::SimulatedRank&") != std::string_view::npos));
}

// "ns::train(gang::Rank&)::{lambda(int)#1}::operator()(int) const" -> "ns::train::{lambda#1}":
// without parameters, template arguments of functions kept.
std::string without_parameters(std::string_view function) {
  constexpr std::string_view unnamed = "(anonymous namespace)::";
  std::string text{function};
  for (std::size_t at = 0; (at = text.find(unnamed)) != std::string::npos;)
    text.erase(at, unnamed.size());
  text.resize(std::min(text.find(" [clone "), text.size()));
  std::string name;
  int depth = 0;
  for (const char character : text) {
    if (character == '(') ++depth;
    if (depth == 0) name += character;
    if (character == ')') --depth;
  }
  for (const std::string_view noise : {std::string_view{" const"}, std::string_view{"::operator"}})
    if (name.ends_with(noise)) name.resize(name.size() - noise.size());
  return name;
}

#if GANGSIM_HAS_BACKTRACE

void ignore_error(void*, const char*, int) {}

backtrace_state* debug_information() {
  static backtrace_state* const state = backtrace_create_state(nullptr, 1, ignore_error, nullptr);
  return state;
}

int add_described(void* data, std::uintptr_t, const char* file, int line, const char* function) {
  auto& frames = *static_cast<std::vector<SourceLocation>*>(data);
  SourceLocation& frame = frames.emplace_back();
  if (function != nullptr) frame.function = demangled(function);
  if (file != nullptr) {
    frame.file = file;
    frame.line = static_cast<std::uint32_t>(line);
  }
  return 0;
}

void add_symbol(void* data, std::uintptr_t, const char* symbol, std::uintptr_t, std::uintptr_t) {
  if (symbol != nullptr) *static_cast<std::string*>(data) = demangled(symbol);
}

std::vector<SourceLocation> look_up(std::uintptr_t address) {
  std::vector<SourceLocation> frames;
  backtrace_pcinfo(debug_information(), address, add_described, ignore_error, &frames);
  if (frames.empty()) frames.emplace_back();
  // The outermost is the function as such, and the symbol's name has its namespaces.
  backtrace_syminfo(debug_information(), address, add_symbol, ignore_error,
                    &frames.back().function);
  return frames;
}

#else

std::vector<SourceLocation> look_up(std::uintptr_t) { return {}; }

#endif

// Kept for good: a test run meets the same few addresses again and again.
const std::vector<SourceLocation>& frames_at(std::uintptr_t address) {
  static std::mutex mutex;
  static std::unordered_map<std::uintptr_t, std::vector<SourceLocation>> known;
  const std::lock_guard lock(mutex);
  const auto [found, is_new] = known.try_emplace(address);
  if (is_new) found->second = look_up(address);
  return found->second;
}

}  // namespace

bool can_name_frames() noexcept { return GANGSIM_HAS_BACKTRACE != 0; }

std::vector<std::uintptr_t> walk_call_stack() {
  std::vector<std::uintptr_t> addresses;
  addresses.reserve(most_frames);
  _Unwind_Backtrace(add_frame, &addresses);
  return addresses;
}

std::vector<SourceLocation> describe_frame(std::uintptr_t address) {
  std::vector<SourceLocation> frames;
  for (const SourceLocation& frame : frames_at(address))
    frames.push_back({frame.file, frame.line, without_parameters(frame.function)});
  return frames;
}

std::vector<SourceLocation> describe_call_stack(std::span<const std::uintptr_t> addresses) {
  std::vector<SourceLocation> stack;
  bool is_in_program = false;
  for (const std::uintptr_t address : addresses) {
    const std::vector<SourceLocation>& frames = frames_at(address);
    if (frames.empty()) continue;
    const std::string& function = frames.back().function;
    if (!is_in_program && (function.empty() || is_inside_a_call(function))) continue;
    is_in_program = true;
    if (is_below_a_program(function)) return stack;
    if (function.empty() || function.starts_with("std::")) continue;
    for (const SourceLocation& frame : frames) {
      if (frame.function.empty()) continue;
      stack.push_back({frame.file, frame.line, without_parameters(frame.function)});
    }
  }
  return stack;
}

}  // namespace gang::sim
