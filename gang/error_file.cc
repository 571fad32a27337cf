#include "gang/error_file.h"

#include <cxxabi.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string_view>
#include <typeinfo>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace gang {
namespace {

std::string demangled(const char* name) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(
      abi::__cxa_demangle(name, nullptr, nullptr, &status), std::free);
  return status == 0 ? text.get() : name;
}

void write_whole(const std::filesystem::path& path, std::string_view text) {
  std::filesystem::path part = path;
  part += fmt::format(".{}", ::getpid());
  std::ofstream file(part, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (!file) throw std::runtime_error("writing failed");
  std::filesystem::rename(part, path);
}

}  // namespace

WorkerFailure describe_failure(const std::exception& error) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return {.type = demangled(typeid(error).name()),
          .message = error.what(),
          .unix_seconds = std::chrono::duration_cast<std::chrono::seconds>(now).count()};
}

std::string to_error_file_text(const WorkerFailure& failure) {
  const std::string sentence =
      failure.type.empty() ? failure.message : failure.type + ": " + failure.message;
  const nlohmann::json content = {
      {"message",
       {{"message", sentence},
        {"extraInfo",
         {{"py_callstack", failure.call_stack.empty() ? sentence : failure.call_stack},
          {"timestamp", std::to_string(failure.unix_seconds)}}}}}};
  // A message may contain any bytes, and a file that is not JSON would make the agent itself fail.
  return content.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

std::string write_error_file(const std::filesystem::path& path,
                             const WorkerFailure& failure) noexcept {
  if (path.empty()) return {};
  try {
    write_whole(path, to_error_file_text(failure));
    return {};
  } catch (const std::exception& error) {
    return "could not write the error file '" + path.string() + "': " + error.what();
  }
}

}  // namespace gang
