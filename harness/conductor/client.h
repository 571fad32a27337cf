// The client's side of the protocol, for ranks written in C++.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gang/error.h"
#include "harness/conductor/descriptor.h"
#include "harness/conductor/messages.h"

namespace gang::harness {

// The conductor has refused the connection, has ended the run, or is gone. what() is its reason.
struct Refusal : Error {
  using Error::Error;
};
struct RunEnded : Error {
  using Error::Error;
};
struct Disconnected : Error {
  using Error::Error;
};

// A stream socket to whoever listens at `path`, now or within 10 s. Throws Disconnected.
Descriptor connect_to(const std::string& path);

// One connection. Blocks where the protocol has an answer. Threads: one at a time.
class Client {
 public:
  // A caller of this process and thread.
  static HelloMessage caller(int rank, int world_size, std::string thread_name = "MainThread");

  // Connects. Throws Disconnected if nobody listens, Refusal unless the conductor welcomes it.
  Client(std::string path, const HelloMessage& hello);

  int rank() const noexcept { return hello_.rank; }
  const WelcomeMessage& welcome() const noexcept { return welcome_; }
  int world_size() const noexcept { return welcome_.world_size; }
  std::uint64_t seed() const noexcept { return welcome_.seed; }
  const std::string& path() const noexcept { return path_; }

  // The native ids of the threads of the process that have never said hello, as later calls will
  // say.
  void set_silent_threads(std::vector<std::uint32_t> threads) {
    silent_threads_ = std::move(threads);
  }

  // What it says when it is asked where it is.
  void set_stack(StackMessage stack) { stack_ = std::move(stack); }

  // Requests. Throw RunEnded once the run has a verdict, each, and Disconnected if the conductor is
  // gone.
  OperationResult call(OperationMessage message);
  std::uint64_t start(OperationMessage message);
  std::vector<OperationResult> wait(const std::vector<std::uint64_t>& ids);
  OperationResult wait(std::uint64_t id) { return wait(std::vector{id}).at(0); }
  // Empty: `timeout` has passed first.
  std::vector<OperationResult> wait_for(const std::vector<std::uint64_t>& ids, Duration timeout);
  std::size_t wait_any(const std::vector<std::uint64_t>& ids);
  bool test(std::uint64_t id);
  OperationResult group(std::uint32_t number, std::string name, std::vector<int> ranks);
  StoredMessage store(StoreMessage message);
  // `memory`: of a memfd.
  void block(std::uint32_t number, int memory, std::uint64_t size);
  // Anything that is not answered.
  void tell(const ClientMessage& message) { send(frame_of(message)); }
  void bye() { tell(ByeMessage{}); }

  // Bytes as they are; with a descriptor unless it is negative.
  void send(std::span<const std::byte> bytes, int descriptor = -1);

  // The next frame that is not a question for the stack, which it answers.
  ServerMessage receive();

  void disconnect() noexcept { socket_.close(); }
  // Nothing follows, but answers can still be read.
  void end_sending() const noexcept;

 private:
  std::uint64_t send_operation(OperationMessage message, bool is_blocking);
  void read_into(std::span<std::byte> bytes);
  ServerMessage any_answer();
  template <typename Message>
  static Message as(ServerMessage message);
  template <typename Message>
  Message answer();
  std::vector<OperationResult> results();

  std::string path_;
  HelloMessage hello_;
  Descriptor socket_;
  WelcomeMessage welcome_;
  std::vector<std::uint32_t> silent_threads_;
  StackMessage stack_;
  std::optional<std::string> verdict_;  // that the run has ended with
};

}  // namespace gang::harness
