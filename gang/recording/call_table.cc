#include "gang/recording/call_table.h"

#include "gang/visible_text.h"

namespace gang {
namespace {

template <typename T>
void append(std::string& key, T value) {
  key.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// All that tells two calls apart, in bytes.
void make_key(std::string& key, const Collective& call, std::string_view file) {
  key.clear();
  append(key, call.kind);
  append(key, call.data_type);
  append(key, call.reduce_operation);
  append(key, call.peer);
  append(key, call.tag);
  append(key, call.count);
  append(key, call.blocking);
  append(key, call.call_site.line());
  append(key, call.shape.dimensions());
  for (const std::int64_t extent : call.shape.extents()) append(key, extent);
  append(key, call.label.size());
  key += call.label;
  key += file;
}

}  // namespace

const std::string& CallTable::kept(std::string_view text) {
  if (const auto known = known_texts_.find(text); known != known_texts_.end())
    return *known->second;
  const std::string& copy = texts_.emplace_back(visible(text));
  known_texts_.emplace(copy, &copy);
  return copy;
}

std::uint32_t CallTable::index_of(const Collective& call, std::string_view file) {
  make_key(key_, call, file);
  const auto [place, is_new] =
      indexes_.try_emplace(key_, static_cast<std::uint32_t>(calls_.size()));
  if (is_new) {
    Collective& copy = calls_.emplace_back(call);
    copy.sequence_number = 0;
    copy.label = kept(call.label);
    copy.call_site = CallSite::at(kept(file).c_str(), call.call_site.line());
  }
  return place->second;
}

}  // namespace gang
