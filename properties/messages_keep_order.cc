#include "properties/messages_keep_order.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "properties/case_text.h"
#include "properties/rank_check.h"
#include "properties/simpler_cases.h"

namespace gang::properties {
namespace {

// A message's index in the list is what it carries.
using Index = std::int32_t;

Message message_of(const MessageCase& messages, Index index) {
  Message message = messages.messages[static_cast<std::size_t>(index)];
  message.source %= messages.world;
  message.destination %= messages.world;
  return message;
}

// The messages to `rank`, in the order in which it asks for them.
std::vector<Index> asked_by(const MessageCase& messages, int rank) {
  std::vector<Index> asked;
  for (Index index = 0; index < static_cast<Index>(messages.messages.size()); ++index)
    if (message_of(messages, index).destination == rank) asked.push_back(index);
  if (messages.shuffle == 0) return asked;
  sim::RandomStream random(messages.shuffle, "receives", static_cast<std::uint64_t>(rank));
  for (std::size_t i = asked.size(); i > 1; --i) std::swap(asked[i - 1], asked[random.below(i)]);
  return asked;
}

std::vector<Work> start_sends(const MessageCase& messages, Gang& gang,
                              std::vector<Index>& payloads) {
  std::vector<Work> works;
  for (Index index = 0; index < static_cast<Index>(payloads.size()); ++index) {
    const Message message = message_of(messages, index);
    if (message.source != gang.rank()) continue;
    payloads[static_cast<std::size_t>(index)] = index;
    works.push_back(gang.start_send(view_of(payloads[static_cast<std::size_t>(index)]),
                                    message.destination, message.tag));
  }
  return works;
}

// The index of the message among those with its source, destination and tag.
int place_of(const MessageCase& messages, Index index) {
  int place = 0;
  for (Index before = 0; before < index; ++before)
    if (message_of(messages, before) == message_of(messages, index)) ++place;
  return place;
}

// Checks that the messages of each (source, tag) arrive in order, each with its sender.
class Inbox {
 public:
  explicit Inbox(const MessageCase& messages) : messages_(messages) {}

  std::string take(Index index, const Received& received, int rank) {
    if (index < 0 || index >= static_cast<Index>(messages_.messages.size()))
      return fmt::format("receives {}, which no rank sent", index);
    const Message message = message_of(messages_, index);
    if (message.destination != rank)
      return fmt::format("receives message {}, sent to rank {}", index, message.destination);
    if (received.source_rank != message.source || received.tag != message.tag)
      return fmt::format("receives message {} as if from rank {} with tag {}", index,
                         received.source_rank, received.tag);
    int& expected = next_[{message.source, message.tag}];
    if (place_of(messages_, index) != expected)
      return fmt::format("receives message {} out of order", index);
    ++expected;
    return {};
  }

 private:
  const MessageCase& messages_;
  std::map<std::pair<int, int>, int> next_;
};

// Without tags, and on one stream, all messages of the rank are one batch.
std::string run_batch(const MessageCase& messages, Gang& gang) {
  std::vector<Index> payloads(messages.messages.size());
  const std::vector<Index> asked = asked_by(messages, gang.rank());
  std::vector<Index> inbox(asked.size(), -1);
  std::vector<PointToPoint> batch;
  for (std::size_t i = 0; i < payloads.size(); ++i) {
    const Message message = message_of(messages, static_cast<Index>(i));
    payloads[i] = static_cast<Index>(i);
    if (message.source == gang.rank())
      batch.push_back({OperationKind::send, view_of(payloads[i]), message.destination});
  }
  for (std::size_t i = 0; i < asked.size(); ++i)
    batch.push_back(
        {OperationKind::recv, view_of(inbox[i]), message_of(messages, asked[i]).source});
  gang.batch(batch);
  Inbox checked(messages);
  for (std::size_t i = 0; i < inbox.size(); ++i) {
    const Received from{.source_rank = message_of(messages, asked[i]).source, .tag = 0};
    std::string complaint = checked.take(inbox[i], from, gang.rank());
    if (!complaint.empty()) return complaint;
  }
  return {};
}

std::string run_messages(const MessageCase& messages, Gang& gang) {
  std::vector<Index> payloads(messages.messages.size());
  std::vector<Work> sends = start_sends(messages, gang, payloads);
  const std::vector<Index> asked = asked_by(messages, gang.rank());
  std::vector<Index> inbox(asked.size(), -1);
  std::vector<Work> receives;
  for (std::size_t i = 0; i < asked.size(); ++i) {
    const Message message = message_of(messages, asked[i]);
    const bool any_source = messages.receives != Receives::by_source_and_tag;
    const bool any = messages.receives == Receives::any_source_and_tag;
    receives.push_back(gang.start_recv(view_of(inbox[i]), any_source ? any_rank : message.source,
                                       any ? any_tag : message.tag));
  }
  Work::wait_all(sends);
  Work::wait_all(receives);
  Inbox checked(messages);
  for (std::size_t i = 0; i < inbox.size(); ++i) {
    std::string complaint = checked.take(inbox[i], receives[i].received(), gang.rank());
    if (!complaint.empty()) return complaint;
  }
  return {};
}

Verdict judge_messages(const MessageCase& messages, const Subject& subject) {
  if (messages.receives == Receives::any_source_and_tag && !subject.receives_any_tag)
    return Verdict::not_applicable();
  sim::SimulationOptions options = options_of(GangProgram{.run = messages.run});
  options.world_size = messages.world;
  return judge_ranks(options, subject, [&](sim::SimulatedRank& rank) {
    const std::shared_ptr<Gang> gang = subject.wrapped(rank.root());
    return subject.has_tags ? run_messages(messages, *gang) : run_batch(messages, *gang);
  });
}

constexpr const char* receive_texts[] = {"by source and tag", "from any rank",
                                         "from any rank with any tag"};

}  // namespace

MessageCase generate_messages(Draw& draw) {
  MessageCase messages;
  messages.world = draw.world();
  messages.messages.resize(static_cast<std::size_t>(draw.between(1, 8)));
  for (Message& message : messages.messages)
    message = {draw.between(0, messages.world - 1), draw.between(0, messages.world - 1),
               draw.between(0, 2)};
  messages.receives = static_cast<Receives>(draw.between(0, 2));
  messages.shuffle = draw.random.below(4);
  messages.run = generate_run_choices(draw);
  messages.run.execution = sim::ExecutionModel::independent;
  return messages;
}

std::string to_text(const MessageCase& messages) {
  std::string text = fmt::format(
      "world {}, {} received {}, shuffle {}, {}, {} sends", messages.world,
      counted(messages.messages.size(), "message"),
      receive_texts[static_cast<std::size_t>(messages.receives)], messages.shuffle,
      schedule_text(messages.run.scheduler, messages.run.seed), to_string(messages.run.sends));
  for (Index index = 0; index < static_cast<Index>(messages.messages.size()); ++index) {
    const Message message = message_of(messages, index);
    text += fmt::format("\nmessage {}  rank {} to rank {}, tag {}", index, message.source,
                        message.destination, message.tag);
  }
  return text;
}

std::vector<MessageCase> shrinks(const MessageCase& messages) {
  SimplerCases simpler(messages);
  for (const int world : {1, 2, messages.world - 1})
    if (world >= 1) simpler.lower(&MessageCase::world, world);
  simpler.drop_each(&MessageCase::messages, 1);
  for (std::size_t i = 0; i < messages.messages.size(); ++i)
    for (const auto field : {&Message::tag, &Message::source, &Message::destination})
      simpler.add([i, field](MessageCase& one) { one.messages[i].*field = 0; });
  simpler.reset(&MessageCase::shuffle);
  simpler.reset(&MessageCase::receives);
  simpler.reset(&MessageCase::run);
  return simpler.take();
}

std::vector<Property> messages_keep_order(const Subject& subject) {
  return {to_property(Law<MessageCase>{
      .suite = "messages_keep_order",
      .name = "per_source_destination_and_tag",
      .description = "Each message arrives once, in order, with its sender and tag.",
      .generate =
          [has_tags = subject.has_tags](Draw& draw) {
            MessageCase messages = generate_messages(draw);
            if (has_tags) return messages;
            messages.receives = Receives::by_source_and_tag;
            for (Message& message : messages.messages) message.tag = 0;
            return messages;
          },
      .verdict =
          [subject](const MessageCase& messages) { return judge_messages(messages, subject); }})};
}

}  // namespace gang::properties
