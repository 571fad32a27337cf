#include "gang/nccl/store_meeting.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <nlohmann/json.hpp>

#include "gang/gang_cause.h"
#include "gang/message_pack.h"

namespace gang {
namespace {

using Said = std::vector<std::optional<std::string>>;

constexpr Duration between_looks = std::chrono::milliseconds(200);

std::vector<std::byte> to_bytes(const Said& said) {
  nlohmann::json list = nlohmann::json::array();
  for (const auto& text : said) {
    if (text)
      list.push_back(nlohmann::json::binary({text->begin(), text->end()}));
    else
      list.push_back(nullptr);
  }
  const std::vector<std::uint8_t> packed = nlohmann::json::to_msgpack(list);
  const auto* const first = reinterpret_cast<const std::byte*>(packed.data());
  return {first, first + packed.size()};
}

// None for bytes that no rank 0 has written.
std::optional<Said> parse_said(std::span<const std::byte> bytes, std::size_t size) {
  const std::optional<nlohmann::json> list = parse_message_pack(bytes);
  if (!list || !list->is_array() || list->size() != size) return std::nullopt;
  Said said;
  for (const nlohmann::json& one : *list) {
    if (!one.is_binary() && !one.is_null()) return std::nullopt;
    said.emplace_back();
    if (one.is_binary()) said.back().emplace(one.get_binary().begin(), one.get_binary().end());
  }
  return said;
}

class StoreMeeting final : public NcclMeeting {
 public:
  StoreMeeting(std::shared_ptr<Store> store, std::shared_ptr<Runtime> runtime)
      : store_(std::move(store)), runtime_(std::move(runtime)) {}

  std::vector<std::optional<std::string>> meet(const NcclAppointment& appointment,
                                               std::string_view own) override {
    store_->set_text(place(appointment, appointment.rank), own);
    const bool gathers = appointment.rank == 0;
    std::vector<std::string> awaited;
    for (int rank = 1; gathers && rank < appointment.size; ++rank)
      if (!is_gone(appointment, rank)) awaited.push_back(place(appointment, rank));
    if (!gathers && is_gone(appointment, 0)) return meet_without_first(appointment);
    if (!gathers) awaited.push_back(appointment.key + "/all");
    const bool is_there = awaited.empty() || wait_for(appointment, awaited);
    if (!gathers && is_there) {
      const auto bytes = store_->try_get(awaited.front());
      if (auto said = parse_said(bytes.value(), static_cast<std::size_t>(appointment.size)))
        return *std::move(said);
      throw StoreError(StoreErrorKind::corrupt,
                       appointment.key + " does not hold a list of members");
    }
    Said said = who_is_there(appointment);
    if (gathers) store_->set(appointment.key + "/all", to_bytes(said));
    return said;
  }

  std::string decide(const std::string& key, std::string_view proposal) override {
    return store_->compare_set_text(key, "", proposal);
  }

  void leave_note(const std::string& gang_key, std::string_view text) noexcept override {
    gang::leave_note(*store_, gang_key, text);
  }

  std::optional<std::string> find_note(const std::string& gang_key) noexcept override {
    return gang::find_note(*store_, gang_key);
  }

 private:
  static bool is_gone(const NcclAppointment& appointment, int rank) {
    return std::ranges::find(appointment.gone, rank) != appointment.gone.end();
  }

  // Each member looks for all the others.
  Said meet_without_first(const NcclAppointment& appointment) {
    std::vector<std::string> awaited;
    for (int rank = 0; rank < appointment.size; ++rank)
      if (!is_gone(appointment, rank)) awaited.push_back(place(appointment, rank));
    wait_for(appointment, awaited);
    return who_is_there(appointment);
  }

  static std::string place(const NcclAppointment& appointment, int rank) {
    return appointment.key + "/" + std::to_string(rank);
  }

  // False if there is a note before all keys have values, or if the deadline has passed.
  bool wait_for(const NcclAppointment& appointment, std::span<const std::string> keys) {
    while (!store_->check(keys)) {
      const Duration left = appointment.deadline == TimePoint::max()
                                ? between_looks
                                : appointment.deadline - runtime_->now();
      if (left <= Duration::zero() || find_note(appointment.gang_key)) return false;
      try {
        store_->wait(keys, std::min(left, between_looks));
      } catch (const StoreError& error) {
        if (error.kind() != StoreErrorKind::timeout) throw;
      }
    }
    return true;
  }

  Said who_is_there(const NcclAppointment& appointment) {
    Said said;
    for (int rank = 0; rank < appointment.size; ++rank)
      said.push_back(store_->try_get_text(place(appointment, rank)));
    return said;
  }

  std::shared_ptr<Store> store_;
  std::shared_ptr<Runtime> runtime_;
};

}  // namespace

std::shared_ptr<NcclMeeting> make_store_meeting(std::shared_ptr<Store> store,
                                                std::shared_ptr<Runtime> runtime) {
  return std::make_shared<StoreMeeting>(std::move(store), std::move(runtime));
}

}  // namespace gang
