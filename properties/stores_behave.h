// Every kind of store is one map, whichever client changes it, and its server survives any client.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gang/runtime.h"
#include "gang/store/store.h"
#include "gang/store/tcp_store_service.h"
#include "properties/law.h"
#include "properties/subject.h"

namespace gang::properties {

// A kind of store on real threads.
struct StoreSubject {
  std::string name;        // "memory"
  std::uint64_t cost = 1;  // of a case, as Law::cost
  bool has_append = true;
  // A client of a new, empty map, which is deleted with its last client.
  std::function<std::shared_ptr<Store>()> make;
};

// Memory, prefix, file, and TCP in both dialects.
std::vector<StoreSubject> all_store_subjects();

// One operation of one client. It decides what `key` and `text` are for.
struct StoreStep {
  enum class Kind : std::uint8_t {
    set,
    get,
    try_get,
    add,
    compare_set,
    append,
    check,
    wait,
    delete_key,
    num_keys,
  };

  Kind kind = Kind::set;
  int client = 0;
  int key = 0;  // one of a few; those from `first_number_key` on hold only numbers
  std::string text;
  std::string expected;
  std::int64_t delta = 0;

  friend bool operator==(const StoreStep&, const StoreStep&) = default;
};

struct StoreCase {
  int clients = 1;
  std::vector<StoreStep> steps;

  friend bool operator==(const StoreCase&, const StoreCase&) = default;
};
std::string to_text(const StoreCase& one);
std::vector<StoreCase> shrinks(const StoreCase& one);

// What each thread or rank adds to one number, all of it positive.
struct AddingCase {
  std::vector<std::vector<int>> deltas;
  std::uint64_t seed = 1;

  friend bool operator==(const AddingCase&, const AddingCase&) = default;
};
AddingCase generate_adding(Draw& draw, int clients, int most_adds);
std::string to_text(const AddingCase& one);
std::vector<AddingCase> shrinks(const AddingCase& one);

// Ranks of a simulated world that wait for keys that rank 0 sets.
struct WaitingCase {
  std::vector<int> set_at_ms;  // one per key; negative: never
  struct Waiter {
    int key = 0;
    int comes_at_ms = 0;
    int timeout_ms = 1;
    friend bool operator==(const Waiter&, const Waiter&) = default;
  };
  std::vector<Waiter> waiters;  // from rank 1 on
  std::uint64_t seed = 1;

  friend bool operator==(const WaitingCase&, const WaitingCase&) = default;
};
std::string to_text(const WaitingCase& one);
std::vector<WaitingCase> shrinks(const WaitingCase& one);

// Bytes sent to a server on several connections, mostly damaged requests.
struct HostileCase {
  struct Piece {
    int connection = 0;
    std::vector<std::byte> bytes;
    friend bool operator==(const Piece&, const Piece&) = default;
  };
  std::vector<Piece> pieces;

  friend bool operator==(const HostileCase&, const HostileCase&) = default;
};
std::string to_text(const HostileCase& one);
std::vector<HostileCase> shrinks(const HostileCase& one);

// How a server executes a request; tests plant another way.
using ExecuteRequest = std::function<std::vector<TcpStoreService::Reply>(
    TcpStoreService&, TcpStoreService::Connection, const TcpStoreRequest&)>;

using MakeStore = std::function<std::shared_ptr<Store>(Runtime&)>;

// The laws of stores_behave().
Property store_is_a_map(const StoreSubject& store);
Property concurrent_clients_see_one_order(const StoreSubject& store);
Property simulated_clients_see_one_order(const MakeStore& make, const Subject& subject = {});
Property simulated_waits_end_on_time(const MakeStore& make, const Subject& subject = {});
Property servers_survive_any_bytes(const ExecuteRequest& execute);

std::vector<Property> stores_behave(const Subject& subject = {});

}  // namespace gang::properties
