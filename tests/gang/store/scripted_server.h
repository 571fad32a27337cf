// A server for tests that answers as scripted, right or wrong.
#pragma once

#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include "tests/gang/store/raw_connection.h"
#include "tests/gang/store/recorded_sessions.h"

namespace gang {

// Accepts one connection for each script, in turn, and closes it when the script has run.
class ScriptedServer {
 public:
  using Script = std::function<void(RawConnection&)>;

  explicit ScriptedServer(std::vector<Script> scripts)
      : thread_([this, scripts = std::move(scripts)] {
          for (const Script& script : scripts) {
            RawConnection connection = listener_.accept();
            script(connection);
          }
        }) {}
  ScriptedServer(const ScriptedServer&) = delete;
  ScriptedServer& operator=(const ScriptedServer&) = delete;
  ~ScriptedServer() { thread_.join(); }

  std::uint16_t port() const { return listener_.port(); }

  // Takes the greeting of a client of PyTorch 2 and echoes its ping.
  static void greet(RawConnection& connection) {
    const std::vector<std::byte> greeting = connection.receive(10);
    if (greeting.size() == 10) connection.send(std::span(greeting).last(4));
  }

 private:
  RawListener listener_;
  std::thread thread_;
};

}  // namespace gang
