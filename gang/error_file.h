// Why a worker failed, as torchrun's agent reads it.
#pragma once

#include <cstdint>
#include <exception>
#include <filesystem>
#include <string>

namespace gang {

struct WorkerFailure {
  std::string type;               // of the error: "gang::GangError"
  std::string message;            // its what()
  std::string call_stack;         // may be empty
  std::int64_t unix_seconds = 0;  // when it happened; the agent reports the earliest as root cause
};

// The failure of a worker that an exception has left, dated now.
WorkerFailure describe_failure(const std::exception& error);

// The content of the file. Source: the format of torch.distributed.elastic's error handler.
std::string to_error_file_text(const WorkerFailure& failure);

// Writes the failure to `path`, TORCHELASTIC_ERROR_FILE: torchrun then prints its text as the cause
// of the worker's failure. The file is written completely or not at all. Does not throw, since its
// caller is about to report the failure itself, but returns what went wrong, or an empty text. Does
// nothing for an empty path (no torchrun, or one that keeps no logs).
std::string write_error_file(const std::filesystem::path& path,
                             const WorkerFailure& failure) noexcept;

}  // namespace gang
