#include "harness/conductor/rank_output.h"

#include <fcntl.h>

#include <array>
#include <cerrno>
#include <ostream>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace gang::harness {

RankOutput::RankOutput(Poller& poller, RankSelection ranks, std::ostream& out, std::ostream& err)
    : poller_(poller), ranks_(std::move(ranks)), out_(out), err_(err) {}

RankOutput::~RankOutput() {
  for (const auto& [descriptor, stream] : streams_) poller_.remove(descriptor);
}

RankOutput::Pipes RankOutput::open(int rank) { return {open(rank, out_), open(rank, err_)}; }

Descriptor RankOutput::open(int rank, std::ostream& to) {
  std::array<int, 2> pipe{};
  if (::pipe2(pipe.data(), O_CLOEXEC) != 0)
    throw std::system_error(errno, std::generic_category(), "a pipe for a rank");
  const int descriptor = pipe[0];
  ::fcntl(descriptor, F_SETFL, O_NONBLOCK);
  streams_.emplace(descriptor, Stream{rank, to, Descriptor(descriptor), ""});
  poller_.add(descriptor, [this, descriptor] { read(descriptor); });
  return Descriptor(pipe[1]);
}

void RankOutput::silence() {
  std::vector<int> descriptors;
  for (const auto& [descriptor, stream] : streams_) descriptors.push_back(descriptor);
  for (const int descriptor : descriptors) read(descriptor);  // as much as a pipe holds
  for (auto& [descriptor, stream] : streams_) print_begun(stream);
  is_silent_ = true;
}

void RankOutput::read(int descriptor) {
  Stream& stream = streams_.at(descriptor);
  std::array<char, 65536> buffer;
  const ssize_t got = ::read(descriptor, buffer.data(), buffer.size());
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) {
    print_begun(stream);
    poller_.remove(descriptor);
    streams_.erase(descriptor);
    return;
  }
  std::string_view text(buffer.data(), static_cast<std::size_t>(got));
  for (std::size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
    stream.line += text.substr(0, end);
    print(stream, stream.line);
    stream.line.clear();
    text.remove_prefix(end + 1);
  }
  stream.line += text;
}

// A line without its end.
void RankOutput::print_begun(Stream& stream) {
  if (!stream.line.empty()) print(stream, stream.line);
  stream.line.clear();
}

void RankOutput::print(const Stream& stream, std::string_view line) {
  if (is_silent_ || !ranks_.contains(stream.rank)) return;
  stream.to << fmt::format("[{}] {}\n", stream.rank, line) << std::flush;
}

}  // namespace gang::harness
